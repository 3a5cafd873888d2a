import { env } from "cloudflare:test";
import type { JobId, Lane, SubmissionId } from "@sluice/core";
import { openDatabase, type Database } from "@sluice/db";
import type { JobEnd } from "@sluice/pipeline/score/job-end.ts";
import { finalizeJobs } from "@sluice/pipeline/score/sql/finalize-jobs.ts";
import {
  dispatch,
  jobId,
  open,
  part,
  record,
  succeed,
  type TestDocument,
} from "@sluice/pipeline/test-support/fixtures.ts";
import { expect } from "vitest";
import { NOW, testApi } from "./api.ts";

/* Shared by tests of reads. */

export interface Page<T> {
  readonly data: T[];
  readonly next_cursor: string | null;
}

export const db = (): Database => openDatabase(env.DB);

/** A submission whose documents are recorded in one job, and dispatched. */
export async function recorded(
  documents: readonly TestDocument[],
  more: { label?: string; lane?: Lane } = {},
  now = NOW,
) {
  const submission = await open(db(), { total: documents.length, ...more }, now);
  const job = jobId(now);
  await record(db(), job, [[part(submission, 0, documents)]], now);
  return { submission, job };
}

export async function scored(
  documents: readonly TestDocument[],
  scores = [0.25, 0.75],
  now = NOW,
): Promise<SubmissionId> {
  const { submission, job } = await recorded(documents, {}, now);
  await succeed(db(), job, await dispatch(db(), job, now), now, scores);
  return submission;
}

/** Dispatches a job and ends it. */
export async function end(job: JobId, end: JobEnd): Promise<void> {
  await dispatch(db(), job);
  await finalizeJobs(db(), [{ job: { id: job, dispatchNumber: 1, status: "dispatched" }, end }], NOW + 1_000);
}

export async function read<T>(path: string, accept = "application/json"): Promise<T> {
  const response = await (await testApi()).fetch(path, { headers: { accept } });
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

/** A body of any type as text. */
export const text = async (response: Response) => new TextDecoder().decode(await response.arrayBuffer());
export const documentPath = (id: string) => `/v1/collections/default/documents/${encodeURIComponent(id)}`;
export const at = (time: number) => new Date(time).toISOString();
