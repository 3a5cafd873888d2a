import { env } from "cloudflare:test";
import { rankScores } from "@sluice/pipeline/score/rank-scores.ts";
import type { JobId, SubmissionId } from "@sluice/core";
import type { JobEnd } from "@sluice/pipeline/job/job-end.ts";
import { finalizeJobs } from "@sluice/pipeline/score/sql/finalize-jobs.ts";
import { openDatabase, type Database } from "@sluice/db";
import type { NewSubmission } from "@sluice/pipeline/submission/sql/open-submission.ts";
import {
  dispatch,
  jobId,
  open,
  part,
  record,
  succeed,
  type TestDocument,
} from "@sluice/pipeline/test-support/fixtures.ts";
import { parseKeys } from "../src/http/keys.ts";
import { KEY, keyRecord, NOW, testApi, type ProblemBody, type TestApi } from "./api.ts";

/*
 * Rows that tests start with: submissions whose documents are recorded, and possibly ended.
 */

export const db = (): Database => openDatabase(env.DB);

export interface Stored {
  readonly submission: SubmissionId;
  readonly job: JobId;
}

export type StoredOptions = Partial<Pick<NewSubmission, "collection" | "label" | "lane" | "total">>;

/** A submission whose documents are recorded in one job. */
export async function recorded(
  documents: readonly TestDocument[],
  more: StoredOptions = {},
  now = NOW,
): Promise<Stored> {
  const submission = await open(db(), { total: documents.length, ...more }, now);
  const job = jobId(now);
  await record(db(), job, [[part(submission, 0, documents, 0, more.collection)]], now);
  return { submission, job };
}

/** A submission whose documents have scores. */
export async function scored(documents: readonly TestDocument[], more: StoredOptions = {}, now = NOW): Promise<Stored> {
  const stored = await recorded(documents, more, now);
  await succeed(db(), stored.job, await dispatch(db(), stored.job, now), now);
  return stored;
}

/** A submission whose documents failed with a code. */
export async function failed(
  documents: readonly { readonly id: string }[],
  code: "model_error" | "too_large" = "model_error",
  more: StoredOptions = {},
  now = NOW,
): Promise<Stored> {
  const stored = await recorded(documents, more, now);
  await dispatch(db(), stored.job, now);
  const outcomes = documents.map(({ id }) => ({ submission: stored.submission, document: id, code, message: "m" }));
  await endJob(stored.job, { status: "failed", outcomes, children: [], tokens: null, error: null }, now);
  return stored;
}

/** Ends a dispatched job. */
export async function endJob(job: JobId, end: JobEnd, now = NOW): Promise<void> {
  await finalizeJobs(db(), [{ job: { id: job, dispatchNumber: 1, status: "dispatched" }, end }], now);
}

/** Dispatches a job and ends it. */
export async function dispatchAndEnd(job: JobId, end: JobEnd): Promise<void> {
  await dispatch(db(), job);
  await endJob(job, end);
}

/** Two scores for a document. */
export const scoresOf = (submission: SubmissionId, document: string) => ({
  submission,
  document,
  scores: rankScores([0.25, 0.75], null),
});

export const ids = (from: number, to: number): { readonly id: string }[] =>
  Array.from({ length: to - from }, (_, index) => ({ id: `d${from + index}` }));

export const rows = async (sql: string): Promise<Record<string, unknown>[]> =>
  (await env.DB.prepare(sql).all()).results;

export const documentPath = (id: string, collection = "default"): string =>
  `/v1/collections/${collection}/documents/${encodeURIComponent(id)}`;

/** The API with a key of the collection `mine` only. */
export const limited = async (): Promise<TestApi> =>
  testApi({ keys: parseKeys(JSON.stringify([await keyRecord(KEY, { collections: ["mine"] })])) });

export const at = (time: number): string => new Date(time).toISOString();

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
}

/** The answer to a request that must succeed. */
export async function ask<T>(path: string, init: RequestInit<RequestInitCfProperties> = {}, api?: TestApi): Promise<T> {
  const response = await (api ?? (await testApi())).fetch(path, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} is answered ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}

export const post = (body?: unknown): RequestInit<RequestInitCfProperties> => ({
  method: "POST",
  ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
});

/** The problem of a request that must fail. */
export async function refused(
  path: string,
  init: RequestInit<RequestInitCfProperties> = {},
  api?: TestApi,
): Promise<{ readonly response: Response; readonly problem: ProblemBody }> {
  const response = await (api ?? (await testApi())).fetch(path, init);
  if (response.ok) throw new Error(`${path} is answered ${response.status}`);
  return { response, problem: (await response.json()) as ProblemBody };
}

/** Every page of a list. */
export async function allPages<T>(path: string, api?: TestApi): Promise<(readonly T[])[]> {
  const pages: (readonly T[])[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const more: string = cursor === "" ? "" : `${path.includes("?") ? "&" : "?"}cursor=${cursor}`;
    const page: Page<T> = await ask(`${path}${more}`, {}, api);
    pages.push(page.data);
    cursor = page.next_cursor;
  }
  return pages;
}
