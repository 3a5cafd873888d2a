import type { DocumentShape } from "@sluice/producer/src/shapes/document.ts";
import type { SubmissionShape } from "@sluice/producer/src/shapes/submission.ts";
import { Reader } from "../world/reader.ts";
import type { World } from "../world/world.ts";
import { bagFlaw, listFlaw } from "./compare-lists.ts";
import { collectionsFlaw } from "./collections.ts";
import { listsFlaw } from "./lists.ts";
import { expectedScores } from "./outcome-rules.ts";
import type { Submission, Version } from "./state.ts";
import { statsFlaw } from "./stats.ts";
import { handlerOf } from "../world/handlers.ts";

const getDocument = handlerOf("getDocument");
const getDocuments = handlerOf("getDocuments");
const getSubmission = handlerOf("getSubmission");
const listResults = handlerOf("listResults");
const readResults = handlerOf("readFeed");

/** Small, so that many lists have several pages. */
const PAGE = 12;
/** Every route must return metadata exactly as it was written. */
const METADATA = "include=metadata";
/** How many documents per seed are read individually, with their texts. */
const READ_SINGLY = 2;

/**
 * Returns the flaw in the API's answers after everything has ended, or `null`. Reads every submission, its results page
 * by page, every document, and the feed from its start.
 */
export async function readBackFlaw(world: World): Promise<string | null> {
  const reader = new Reader(world);
  const versions = [...world.mirror.versions.values()].filter(({ recorded, deleted }) => recorded && !deleted);
  const documents = Map.groupBy(versions, ({ collection, document }) => `${collection}\n${document}`);
  for (const list of documents.values()) list.sort((a, b) => (a.submission < b.submission ? 1 : -1));
  const lineOf = (version: Version) =>
    expectedLine(version, documents.get(`${version.collection}\n${version.document}`) ?? []);
  const newest = [...documents.values()].flatMap(([version]) => (version === undefined ? [] : [version]));
  return (
    (await submissionsFlaw(
      world,
      reader,
      Map.groupBy(versions, ({ submission }) => submission),
      lineOf,
    )) ??
    (await documentsFlaw(world, reader, newest, lineOf)) ??
    (await collectionsFlaw(reader, versions)) ??
    (await feedFlaw(world, reader, versions, lineOf)) ??
    (await listsFlaw(world, reader)) ??
    (await statsFlaw(world))
  );
}

type LineOf = (version: Version) => string;

async function submissionsFlaw(
  { mirror, sqlite }: World,
  reader: Reader,
  versionsOf: ReadonlyMap<string, readonly Version[]>,
  lineOf: LineOf,
): Promise<string | null> {
  for (const submission of mirror.submissions.values()) {
    const { id } = submission.row;
    if (submission.deleted) continue;
    const versions = versionsOf.get(id) ?? [];
    const { body } = await reader.get(getSubmission, `/v1/submissions/${id}`, { id });
    const shape = body as unknown as SubmissionShape;
    const shown = submissionLine(shape);
    const expected = expectedSubmission(submission, versions);
    if (shown !== expected) return `GET of ${id} shows ${shown}, expected ${expected}`;
    const [progress] = sqlite.rows("SELECT * FROM submissions_progress WHERE submission_id = ?", id);
    const [inView, inApi] = [JSON.stringify(progress), JSON.stringify(progressOf(shape))];
    if (inView !== inApi) return `the view submissions_progress shows ${inView}, but GET of ${id} shows ${inApi}`;
    const rows = await reader.list<DocumentShape>(
      listResults,
      `/v1/submissions/${id}/results?limit=${PAGE}&${METADATA}`,
      { id },
    );
    // Results are listed by part.
    const inOrder = versions.filter(({ isListed }) => isListed).toSorted((a, b) => a.content.index - b.content.index);
    const flaw =
      listFlaw(`the results of ${id}`, inOrder.map(lineOf), rows?.map(documentLine)) ??
      (await resultsInPartFlaw(reader, id, inOrder));
    if (flaw !== null) return flaw;
  }
  return null;
}

/** Checks the results of one status, and those after a document. */
async function resultsInPartFlaw(reader: Reader, id: string, versions: readonly Version[]): Promise<string | null> {
  const idsOf = (some: readonly Version[]) => some.map(({ document }) => document);
  const middle = versions[Math.floor(versions.length / 2)];
  const behind = middle === undefined ? [] : versions.slice(versions.indexOf(middle) + 1);
  for (const [query, expected] of [
    ["status=failed", versions.filter(({ outcome }) => outcome?.status === "failed")],
    [`after=${encodeURIComponent(middle?.document ?? "")}`, behind],
  ] as const) {
    if (middle === undefined) return null;
    const path = `/v1/submissions/${id}/results?limit=3&${query}`;
    const rows = await reader.list<DocumentShape>(listResults, path, { id });
    const flaw = listFlaw(
      path,
      idsOf(expected),
      rows?.map((row) => row.id),
    );
    if (flaw !== null) return flaw;
  }
  return null;
}

async function documentsFlaw(
  world: World,
  reader: Reader,
  newest: readonly Version[],
  lineOf: LineOf,
): Promise<string | null> {
  for (const [collection, versions] of Map.groupBy(newest, (version) => version.collection)) {
    const gone = deletedFrom(world, collection, new Set(versions.map(({ document }) => document)));
    for (let at = 0; at < versions.length; at += 90) {
      const asked = versions.slice(at, at + 90);
      const ids = [...asked.map(({ document }) => document), ...gone.slice(0, 10)];
      const query = new URLSearchParams(ids.map((id) => ["id", id]));
      const path = `/v1/collections/${collection}/documents?${query.toString()}&${METADATA}`;
      const { body } = await reader.get(getDocuments, path, { collection });
      const flaw = listFlaw(path, asked.map(lineOf), (body["data"] as DocumentShape[] | undefined)?.map(documentLine));
      if (flaw !== null) return flaw;
      if (JSON.stringify(body["missing"]) !== JSON.stringify(gone.slice(0, 10)))
        return `${path} reports as missing ${JSON.stringify(body["missing"])}`;
    }
  }
  for (const version of newest.slice(0, READ_SINGLY)) {
    const { collection, document: id } = version;
    const path = `/v1/collections/${collection}/documents/${encodeURIComponent(id)}?${METADATA},text`;
    const { status, body } = await reader.get(getDocument, path, { collection, id });
    const shape = body as unknown as DocumentShape;
    if (status !== 200 || documentLine(shape) !== lineOf(version)) return `GET ${path} shows ${JSON.stringify(body)}`;
    const { contexts } = version.content;
    const isOwn = ({ context_index: index, text, text_expired_at: expiredAt }: DocumentShape["scores"][number]) =>
      version.hasTexts ? text === contexts[index] && expiredAt === null : text === null && expiredAt !== null;
    if (!shape.stale && !shape.scores.every(isOwn)) return `GET ${path} shows texts that are not its own`;
  }
  return null;
}

/** Lists the ids of a collection's documents that were deleted and not pushed again. */
function deletedFrom({ mirror }: World, collection: string, there: ReadonlySet<string>): string[] {
  const deleted = [...mirror.versions.values()].filter(
    (version) => version.deleted && version.collection === collection,
  );
  return [...new Set(deleted.map(({ document }) => document))].filter((id) => !there.has(id));
}

/** Checks that the feed holds each document that ended in a job, in the order in which the jobs ended. */
async function feedFlaw(
  { mirror, sqlite }: World,
  reader: Reader,
  versions: readonly Version[],
  lineOf: LineOf,
): Promise<string | null> {
  const ended = versions.filter(
    ({ outcome }) => outcome !== null && outcome.job_id !== null && mirror.jobs.get(outcome.job_id)?.deleted !== true,
  );
  const rows = await reader.list<DocumentShape>(readResults, `/v1/results?limit=${PAGE}&${METADATA}`);
  const flaw = bagFlaw("the pages of the feed", ended.map(lineOf), rows?.map(documentLine));
  if (flaw !== null || rows === null) return flaw;
  const sequences = new Map(
    sqlite.rows("SELECT id, finalized_sequence FROM jobs").map((job) => [job["id"], Number(job["finalized_sequence"])]),
  );
  const order = rows.map((row) => sequences.get(row.job_id) ?? Number.NaN);
  const early = order.findIndex((sequence, index) => index > 0 && !(sequence >= (order[index - 1] ?? 0)));
  return early < 0 ? null : `the feed shows ${rows[early]?.id} after documents that ended later`;
}

function documentLine(shape: DocumentShape): string {
  const { id, collection, submission_id: submission, status, query, stale, error, attempts, job_id: job } = shape;
  const scores = shape.scores.map(({ rank, context_index: index, context_id: context, score }) => [
    rank,
    index,
    context,
    score,
  ]);
  const { scored_submission_id: scored, metadata } = shape;
  const outcome = [status, query, metadata, scored, stale, error?.code, attempts, job, scores];
  return JSON.stringify([id, collection, submission, ...outcome]);
}

/** Returns the expected line of a version, given all versions of its document, newest first. */
function expectedLine(version: Version, versions: readonly Version[]): string {
  const { document, collection, submission, outcome, content } = version;
  const isScored = outcome?.status === "succeeded";
  const scored = isScored
    ? version
    : versions.find((other) => other.submission < submission && other.outcome?.status === "succeeded");
  const scores = scored === undefined ? [] : expectedScores(scored.content);
  return JSON.stringify([
    document,
    collection,
    submission,
    outcome?.status,
    content.query,
    content.metadata,
    scored?.submission ?? null,
    scored !== undefined && !isScored,
    outcome?.code ?? undefined,
    outcome?.attempts,
    outcome?.job_id,
    scores.map(([index, score, id], place) => [place + 1, index, id ?? String(index), score]),
  ]);
}

function submissionLine({ id, status, counts, failures, incomplete, stalled, waiting }: SubmissionShape): string {
  return JSON.stringify([id, status, counts, countLines(Object.entries(failures)), incomplete, stalled, waiting]);
}

/** Returns the corresponding row of `submissions_progress`. */
function progressOf({ id, collection, model, lane, label, status, ...shape }: SubmissionShape): object {
  const { counts, usage, created_at, completed_at } = shape;
  const incomplete = Number(shape.incomplete);
  const head = { submission_id: id, collection, model, lane, label, status };
  return { ...head, ...counts, incomplete, ...usage, created_at, completed_at };
}

function expectedSubmission({ row }: Submission, versions: readonly Version[]): string {
  const failures = new Map<string, number>();
  if (row.lost > 0) failures.set("message_lost", row.lost);
  for (const { outcome } of versions) {
    if (outcome?.status === "failed") failures.set(outcome.code ?? "", (failures.get(outcome.code ?? "") ?? 0) + 1);
  }
  const { total, succeeded, failed, canceled, lost } = row;
  return JSON.stringify([
    row.id,
    row.cancel_requested_at === null ? "completed" : "canceled",
    { total, queued: 0, processing: 0, succeeded, failed: failed + lost, canceled },
    countLines([...failures]),
    row.incomplete === 1,
    null,
    null,
  ]);
}

function countLines(failures: readonly (readonly [code: string, count: number])[]): string[] {
  return failures.map(([code, count]) => `${code}: ${count}`).toSorted();
}
