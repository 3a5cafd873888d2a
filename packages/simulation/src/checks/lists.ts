import type { Reader } from "../world/reader.ts";
import type { World } from "../world/world.ts";
import { listFlaw } from "./compare-lists.ts";
import { countsOf } from "./stats.ts";
import { handlerOf } from "../world/handlers.ts";

const listJobs = handlerOf("listJobs");
const listSubmissions = handlerOf("listSubmissions");

const LABEL = "labeled";

/**
 * Returns the flaw in the lists of submissions and jobs, or `null`. With every filter, each must appear once, newest
 * first.
 */
export async function listsFlaw({ mirror }: World, reader: Reader): Promise<string | null> {
  const submissions = [...mirror.submissions.values()].toReversed();
  const labeled = submissions.filter(({ row }) => row.label === LABEL);
  const canceled = submissions.filter(({ row }) => row.cancel_requested_at !== null);
  for (const [query, expected] of [
    ["limit=2", submissions],
    ["limit=2&status=canceled", canceled],
    [`limit=2&label=${LABEL}`, labeled],
  ] as const) {
    const path = `/v1/submissions?${query}`;
    const rows = await reader.list<{ id: string }>(listSubmissions, path);
    const ids = expected.filter(({ deleted }) => !deleted).map(({ row }) => row.id);
    const flaw = listFlaw(
      path,
      ids,
      rows?.map(({ id }) => id),
    );
    if (flaw !== null) return flaw;
  }
  const { body } = await reader.get(listSubmissions, `/v1/submissions?label=${LABEL}`);
  const total = labeled.reduce((sum, { row }) => sum + row.total, 0);
  const [inApi, counts] = [JSON.stringify(body["counts"]), JSON.stringify({ total, ...countsOf(labeled) })];
  if (inApi !== counts) return `the label's counts are ${inApi}, expected ${counts}`;

  const jobs = [...mirror.jobs.values()]
    .filter(({ deleted }) => !deleted)
    .map(({ row }) => row)
    .toSorted((a, b) => (a.id < b.id ? 1 : -1));
  for (const status of [null, "split"]) {
    const path = `/v1/jobs?limit=5${status === null ? "" : `&status=${status}`}`;
    const rows = await reader.list<{ id: string }>(listJobs, path);
    const ids = jobs.filter((row) => status === null || row.status === status).map(({ id }) => id);
    const flaw = listFlaw(
      path,
      ids,
      rows?.map(({ id }) => id),
    );
    if (flaw !== null) return flaw;
  }
  return null;
}
