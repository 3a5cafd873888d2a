import type { Document, Page, Submission } from "@sluice/client/types";
import { expect } from "vitest";
import * as z from "zod";
import { ownScores } from "./documents.ts";
import type { Machine } from "./machine.ts";
import type { ExpectedEnd } from "./scene.ts";

/** Checks that HTTP and SQL return the same, expected results for a submission and its documents. */
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
