import type { Document, Page, Stats } from "@sluice/client/types";
import { expect } from "vitest";
import * as z from "zod";
import type { Machine } from "./machine.ts";
import type { ExpectedEnd } from "./scene.ts";

const sumsSchema = z.object({
  succeeded: z.number(),
  failed: z.number(),
  canceled: z.number(),
  unconfirmed: z.number(),
  repeated: z.number(),
});

/** After all kills: the stats equal the sums over all rows, and the feed has every document that a job ended. */
export async function checkWhole(machine: Machine, expected: readonly ExpectedEnd[]): Promise<void> {
  const stats = await machine.read<Stats>("/v1/stats");
  const [sums] = await machine.sql(
    `SELECT succeeded, failed, canceled, unconfirmed, repeated FROM (
       SELECT total(succeeded) AS succeeded, total(failed + lost) AS failed, total(canceled) AS canceled FROM submissions)
     CROSS JOIN (
       SELECT total(unconfirmed_dispatches) AS unconfirmed, total(repeated_dispatches) AS repeated FROM jobs)`,
    sumsSchema,
  );
  const lanes = Object.values(stats.lanes);
  const told = {
    succeeded: lanes.reduce((sum, lane) => sum + lane.succeeded, 0),
    failed: lanes.reduce((sum, lane) => sum + lane.failed, 0),
    canceled: lanes.reduce((sum, lane) => sum + lane.canceled, 0),
    unconfirmed: stats.usage.unconfirmed_dispatches,
    repeated: stats.usage.repeated_dispatches,
  };
  expect(told).toEqual(sums);
  expect(stats.backlog).toEqual({ documents: 0, jobs: 0 });

  const ended = expected.flatMap(({ submission, ends }) =>
    ends.flatMap(({ document, end }) => (WITHOUT_JOB.has(end) ? [] : [`${submission} ${document.id}`])),
  );
  expect((await readFeed(machine)).toSorted()).toEqual(ended.toSorted());
}

/** Ends that no answer of a job caused. */
const WITHOUT_JOB = new Set<string>(["canceled", "deleted", "message_lost"]);

async function readFeed(machine: Machine): Promise<string[]> {
  const documents: string[] = [];
  for (let cursor: string | null = null; ;) {
    const query: string = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
    const page: Page<Document> = await machine.read<Page<Document>>(`/v1/results${query}`);
    documents.push(...page.data.map(({ submission_id, id }) => `${submission_id} ${id}`));
    if (page.data.length === 0) return documents;
    cursor = page.next_cursor;
  }
}
