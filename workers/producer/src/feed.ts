import {
  listEndedJobs,
  listFeedEntries,
  readLastSequence,
  type FeedEntry,
} from "@sluice/pipeline/document/sql/read-feed.ts";
import { readVersions } from "@sluice/pipeline/document/sql/read-document.ts";
import type { ApiContext, Reader } from "./context.ts";
import { describeDocuments } from "./describe.ts";
import { allowsCollection, type ApiKey } from "./http/keys.ts";
import type { DocumentView } from "./shapes/document.ts";

/** A position in the feed: after this document of the job that ended with this sequence number. */
export interface FeedPosition {
  readonly sequence: number;
  readonly group: number;
  readonly index: number;
}
export const FEED_START: FeedPosition = { sequence: 0, group: -1, index: -1 };

/** After everything that has ended so far: a job that ends later has a greater sequence number. */
export async function feedEnd({ db }: Pick<ApiContext, "db">): Promise<FeedPosition> {
  return { ...FEED_START, sequence: (await readLastSequence(db)) + 1 };
}

/** Jobs listed at once, and how often for one page. If many jobs have no document for it, the page is short. */
const JOB_WINDOW = 200;
const MAX_WINDOWS = 10;
/** A page ends with the document that exceeds this. */
const PAGE_BYTES = 4_000_000;

export interface FeedQuery extends DocumentView {
  readonly key: ApiKey;
  /** `null`: all that the key may see. */
  readonly collection: string | null;
  readonly limit: number;
}

export interface FeedPage {
  /** As JSON text. */
  readonly documents: readonly string[];
  readonly next: FeedPosition;
  /** Whether `next` is after everything that has ended so far. */
  readonly ended: boolean;
}

/** The next documents that ended with a job, in the order in which the jobs ended. */
export async function readFeedPage(
  { db, databaseTime }: Reader,
  query: FeedQuery,
  after: FeedPosition,
): Promise<FeedPage> {
  const entries: FeedEntry[] = [];
  let next = after;
  let bytes = 0;
  let ended = false;
  for (let windows = 0; windows < MAX_WINDOWS && !ended && entries.length < query.limit && bytes < PAGE_BYTES;) {
    windows += 1;
    const listed = await listEndedJobs(db, next.sequence, JOB_WINDOW);
    const wanted = query.limit - entries.length;
    const jobs = fewestFor(listed, wanted);
    const last = jobs.at(-1);
    if (last === undefined) {
      ended = true;
      break;
    }
    const start = jobs[0]?.sequence === next.sequence ? next : null;
    const found = await listFeedEntries(
      db,
      jobs.map((job) => job.id),
      start,
      query.collection,
      wanted,
    );
    const sequences = new Map(jobs.map((job) => [job.id, job.sequence]));
    let cut = found.length >= wanted;
    for (const entry of found) {
      if (bytes >= PAGE_BYTES) {
        cut = true;
        break;
      }
      next = { sequence: sequences.get(entry.job) ?? next.sequence, group: entry.group, index: entry.index };
      if (!allowsCollection(query.key, entry.collection)) continue;
      entries.push(entry);
      bytes += entry.bytes;
    }
    if (cut) continue;
    next = { sequence: last.sequence + 1, group: -1, index: -1 };
    ended = jobs.length === listed.length && listed.length < JOB_WINDOW;
  }
  const rows = await readVersions(db, entries, query.include.includes("text"));
  // A document that was queued again since then will end again.
  const documents = await describeDocuments(
    { db, databaseTime },
    rows.filter((row) => row.status !== null),
    query,
  );
  return { documents, next, ended };
}

/** As many jobs, from the first on, as together hold enough documents. */
function fewestFor<Job extends { readonly documentCount: number }>(jobs: readonly Job[], documents: number): Job[] {
  let held = 0;
  // The first may be read in part already, so its documents do not count.
  const enough = jobs.findIndex((job, index) => (held += index === 0 ? 0 : job.documentCount) >= documents);
  return jobs.slice(0, enough < 0 ? jobs.length : enough + 1);
}
