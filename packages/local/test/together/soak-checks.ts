import { expect } from "vitest";
import * as z from "zod";
import type { Machine } from "../kill-matrix/machine.ts";
import { instantScores, type SoakDocument } from "./soak-documents.ts";

const progressSchema = z.object({
  submission_id: z.string(),
  status: z.string(),
  total: z.number(),
  queued: z.number(),
  processing: z.number(),
  succeeded: z.number(),
  failed: z.number(),
  canceled: z.number(),
  lost: z.number(),
});
export type Progress = z.output<typeof progressSchema>;

/** The versions of a document that were accepted. */
export interface Versions {
  readonly byId: Map<string, SoakDocument>;
  /** The newest submission in which it certainly succeeded. */
  succeeded: string | null;
}

/**
 * Checks that SQL shows the newest version of each document that succeeded, with its own scores, and nothing else. `lost`:
 * messages were lost, so that it is unknown which documents of a later version succeeded.
 */
export async function checkScores(
  machine: Machine,
  collection: string,
  documents: readonly (readonly [key: string, Versions])[],
  lost: boolean,
): Promise<void> {
  const rows = await machine.sql(
    `SELECT document_id, submission_id, json_group_array(json_object('context_id', context_id,
         'context_index', context_index, 'score', score, 'rank', rank) ORDER BY rank) AS scores
       FROM scores WHERE collection = ?1 GROUP BY document_id, submission_id`,
    z.object({ document_id: z.string(), submission_id: z.string(), scores: z.string() }),
    collection,
  );
  const served = new Map(rows.map((row) => [row.document_id, row]));
  expect(served.size, `documents with one version of ${collection}`).toBe(rows.length);
  for (const [key, { byId, succeeded }] of documents) {
    const row = served.get(key.slice(collection.length + 1));
    served.delete(key.slice(collection.length + 1));
    if (!lost) expect(row?.submission_id ?? null, `version of ${key}`).toBe(succeeded);
    else expect((row?.submission_id ?? "") >= (succeeded ?? ""), `version of ${key}`).toBe(true);
    const document = byId.get(row?.submission_id ?? "");
    expect(row === undefined ? null : JSON.parse(row.scores), key).toEqual(
      document === undefined ? null : instantScores(document),
    );
  }
  expect([...served.keys()], `scores of deleted documents of ${collection}`).toEqual([]);
}

/** The names of the documents of which there are contexts; with `queriesToo`, or queries. */
export async function textsOf(
  machine: Machine,
  documents: readonly SoakDocument[],
  queriesToo: boolean,
): Promise<string[]> {
  const rows = await machine.sql(
    `SELECT value AS name FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM contexts WHERE instr(texts, value) > 0)
         ${queriesToo ? "OR EXISTS (SELECT 1 FROM documents WHERE instr(query, value) > 0)" : ""}
         OR EXISTS (SELECT 1 FROM staged_parts WHERE instr(body, value) > 0)
       ORDER BY name`,
    z.object({ name: z.string() }),
    JSON.stringify(documents.map(({ name }) => name)),
  );
  return rows.map(({ name }) => name);
}

/** The progress of submissions that are left, after a check of the sums. */
export async function readProgress(machine: Machine, submissions: readonly string[]): Promise<Progress[]> {
  const rows = await machine.sql(
    `SELECT p.submission_id, status, p.total, queued, processing, p.succeeded, p.failed, p.canceled, s.lost
       FROM json_each(?1) one
       CROSS JOIN submissions_progress p ON p.submission_id = one.value CROSS JOIN submissions s ON s.id = one.value`,
    progressSchema,
    JSON.stringify(submissions),
  );
  for (const { submission_id: id, total, queued, processing, succeeded, failed, canceled } of rows)
    expect(queued + processing + succeeded + failed + canceled, `sum of ${id}`).toBe(total);
  return rows;
}
