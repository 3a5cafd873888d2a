import { externalReference } from "@sluice/core";
import type { Submission } from "@sluice/client/types";
import { expect } from "vitest";
import * as z from "zod";
import type { Machine } from "./machine.ts";
import type { Cost } from "./points.ts";
import type { ExpectedEnd } from "./scene.ts";

const fromJson = <Shape extends z.ZodType>(shape: Shape) =>
  z.string().transform((text): z.output<Shape> => shape.parse(JSON.parse(text)));

const jobSchema = z.object({
  status: z.string(),
  dispatchNumber: z.number(),
  unconfirmed: z.number(),
  dispatches: fromJson(
    z.array(z.object({ number: z.number(), request_id: z.string().optional(), error: z.unknown().optional() })),
  ),
  members: fromJson(z.array(z.tuple([z.string(), z.array(z.string())]))),
  /** The submissions whose parts it was recorded for: one that ended as canceled has no members left. */
  recordedFor: fromJson(z.array(z.string())),
});
type JobRecord = z.output<typeof jobSchema>;

/**
 * What was paid, by what the stand-in took in, against what D1 has on record: every batch is a dispatch's,
 * and dispatches without a record, which may be paid, are counted as unconfirmed and no others.
 */
export async function checkDispatches(
  machine: Machine,
  expected: readonly ExpectedEnd[],
  { unconfirmed = 0, unrecorded = 0 }: Cost,
): Promise<void> {
  const submissions = new Set(expected.map(({ submission }) => submission));
  const jobs = await jobsOf(machine, submissions);
  expect(sum(jobs.map((job) => job.unconfirmed)), "dispatches that jobs count as unconfirmed").toBe(unconfirmed);
  expect(sum(jobs.map(dispatchesWithoutRecord)), "dispatches without a record of what became of them").toBe(
    unconfirmed,
  );
  const rows = await Promise.all([...submissions].map(async (id) => machine.read<Submission>(`/v1/submissions/${id}`)));
  const told = sum(rows.map(({ usage }) => usage.unconfirmed_dispatches));
  expect(told, "dispatches that submissions count as unconfirmed").toBe(unconfirmed);

  const batches = (await machine.batches()).filter(({ references }) =>
    references.some((reference) => submissions.has(submissionOf(reference))),
  );
  const recorded = new Set(jobs.flatMap(({ dispatches }) => dispatches.map((dispatch) => dispatch.request_id)));
  recorded.delete(undefined);
  const others = batches.filter(({ requestId }) => !recorded.has(requestId));
  expect(others.length, "batches that were taken in and are not on record").toBe(unrecorded);
  expect(batches.length - others.length, "batches on record").toBe(recorded.size);

  for (const { submission, ends } of expected) {
    for (const [place, { document }] of ends.entries()) {
      const reference = externalReference(submission, place);
      const paid = batches.filter(({ references }) => references.includes(reference)).length;
      const dispatches = sum(
        jobs.filter((job) => mayHold(job, submission, document.id)).map((job) => job.dispatchNumber),
      );
      expect(paid, `times that ${document.id} was paid`).toBeLessThanOrEqual(dispatches);
    }
  }
}

async function jobsOf(machine: Machine, submissions: ReadonlySet<string>): Promise<JobRecord[]> {
  const jobs = await machine.sql(
    `SELECT status, dispatch_number AS dispatchNumber, unconfirmed_dispatches AS unconfirmed, dispatches, members,
       (SELECT json_group_array(DISTINCT submission_id) FROM parts WHERE job_id = jobs.id) AS recordedFor FROM jobs`,
    jobSchema,
  );
  return jobs.filter(
    ({ members, recordedFor }) =>
      members.some(([id]) => submissions.has(id)) || recordedFor.some((id) => submissions.has(id)),
  );
}

function dispatchesWithoutRecord({ status, dispatchNumber: last, dispatches }: JobRecord): number {
  return dispatches.filter(
    ({ number, request_id, error }) =>
      request_id === undefined &&
      error === undefined &&
      // The dispatch that found nothing left to send ended its job, and sent nothing.
      !(status === "canceled" && number === last),
  ).length;
}

function mayHold({ status, members, recordedFor }: JobRecord, submission: string, document: string): boolean {
  if (status === "canceled") return recordedFor.includes(submission);
  return members.some(([id, documents]) => id === submission && documents.includes(document));
}

/** Of an external reference. */
function submissionOf(reference: string | null): string {
  return reference?.slice(0, reference.lastIndexOf(":")) ?? "";
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
