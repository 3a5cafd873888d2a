import type { Document, Page, Submission } from "@sluice/client/types";
import { expect } from "vitest";
import * as z from "zod";
import { ownScores } from "./documents.ts";
import type { Machine } from "./machine.ts";
import type { ExpectedEnd } from "./scene.ts";

/** Lets time pass until nothing is open, and checks that nothing is left behind and every count is what the rows say. */
export async function checkTables(machine: Machine): Promise<void> {
  const open = async () =>
    machine.sql(
      `SELECT id, status FROM jobs WHERE due_at IS NOT NULL
       UNION ALL SELECT id, 'not completed' FROM submissions WHERE completed_at IS NULL
       UNION ALL SELECT submission_id || '/' || part, 'staged' FROM staged_parts`,
      z.object({ id: z.string(), status: z.string() }),
    );
  await machine
    .tickUntil("nothing is open", async () => (await open()).length === 0)
    .catch(async (error: unknown) => {
      expect(await open(), String(error)).toEqual([]);
    });
  const wrong = await machine.sql(
    `SELECT s.id, s.total, s.recorded, s.succeeded, s.failed, s.canceled, s.lost, p.documents, o.outcomes
     FROM submissions s
     JOIN (SELECT s.id, coalesce(sum(p.document_count), 0) AS documents
       FROM submissions s LEFT JOIN parts p ON p.submission_id = s.id GROUP BY s.id) p ON p.id = s.id
     JOIN (SELECT s.id, count(*) FILTER (WHERE o.status = 'succeeded') AS succeeded,
         count(*) FILTER (WHERE o.status = 'failed') AS failed, count(*) FILTER (WHERE o.status = 'canceled') AS canceled,
         count(o.document_id) AS outcomes
       FROM submissions s LEFT JOIN outcomes o ON o.submission_id = s.id GROUP BY s.id) o ON o.id = s.id
     JOIN (SELECT s.id, count(d.document_id) AS documents
       FROM submissions s LEFT JOIN documents d ON d.submission_id = s.id GROUP BY s.id) d ON d.id = s.id
     WHERE s.total <> s.recorded + s.lost OR s.recorded <> s.succeeded + s.failed + s.canceled
       OR s.recorded <> p.documents OR s.succeeded <> o.succeeded OR s.failed <> o.failed
       OR s.canceled - o.canceled <> s.recorded - d.documents OR d.documents <> o.outcomes`,
    z.record(z.string(), z.unknown()),
  );
  expect(wrong, "submissions whose counts are not what the rows say").toEqual([]);
  const malformed = await machine.sql("SELECT queue, reason FROM malformed_messages", z.unknown());
  expect(malformed, "good messages that were kept as malformed").toEqual([]);
}

/** What HTTP and SQL tell of a submission and its documents: the same, and what is expected. */
export async function checkEnds(machine: Machine, { submission, collection, ends }: ExpectedEnd): Promise<void> {
  const number = (...wanted: string[]) => ends.filter(({ end }) => wanted.includes(end)).length;
  const failed = ends.length - number("succeeded", "canceled", "deleted");
  const counts = {
    total: ends.length,
    queued: 0,
    processing: 0,
    succeeded: number("succeeded"),
    failed,
    canceled: number("canceled", "deleted"),
  };
  const row = await machine.read<Submission>(`/v1/submissions/${submission}`);
  expect(row).toMatchObject({ counts, stalled: null, waiting: null, incomplete: false });
  expect(Object.values(row.failures).reduce((sum, count) => sum + count, 0)).toBe(failed);
  for (const { end } of ends) if (!ENDED_WELL.has(end)) expect(row.failures[end]).toBe(number(end));

  const { data } = await machine.read<Page<Document>>(`/v1/submissions/${submission}/results?limit=1000`);
  const there = ends.filter(({ end }) => end !== "deleted" && end !== "message_lost");
  expect(data.map(({ id }) => id).toSorted()).toEqual(there.map(({ document }) => document.id).toSorted());
  const results = new Map(data.map((document) => [document.id, document]));
  for (const { document, end } of there) {
    const own = end === "succeeded" ? ownScores(document) : [];
    const status = end === "succeeded" || end === "canceled" ? end : "failed";
    const told = { status, submission_id: submission, query: document.query, scores: own };
    const result = results.get(document.id);
    expect(result).toMatchObject(told);
    expect(result?.error?.code ?? null).toBe(status === "failed" ? end : null);
    expect(await machine.read(`/v1/collections/${collection}/documents/${document.id}`)).toEqual(result);
  }
  await checkViews(machine, { submission, collection, ends });
}

const ENDED_WELL = new Set<string>(["succeeded", "canceled", "deleted"]);
const scoreRow = z.object({
  document_id: z.string(),
  context_id: z.string(),
  context_index: z.number(),
  score: z.number(),
  rank: z.number(),
});

async function checkViews(machine: Machine, { submission, collection, ends }: ExpectedEnd): Promise<void> {
  const view = async (name: string) =>
    machine.sql(
      `SELECT document_id, context_id, context_index, score, rank FROM ${name}
       WHERE collection = ?1 AND submission_id = ?2 ORDER BY document_id, rank`,
      scoreRow,
      collection,
      submission,
    );
  const expected = ends
    .filter(({ end }) => end === "succeeded")
    .toSorted(({ document: a }, { document: b }) => (a.id < b.id ? -1 : 1))
    .flatMap(({ document }) => ownScores(document).map((score) => ({ document_id: document.id, ...score })));
  expect(await view("scores")).toEqual(expected);
  expect(await view("best")).toEqual(expected.filter(({ rank }) => rank === 1));
  const failures = await machine.sql(
    "SELECT document_id, code FROM failures WHERE collection = ?1 AND submission_id = ?2 ORDER BY document_id",
    z.object({ document_id: z.string(), code: z.string() }),
    collection,
    submission,
  );
  expect(failures).toEqual(
    ends
      .filter(({ end }) => !ENDED_WELL.has(end) && end !== "message_lost")
      .map(({ document, end }) => ({ document_id: document.id, code: end })),
  );
}
