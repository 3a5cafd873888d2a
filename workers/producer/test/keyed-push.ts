import { env } from "cloudflare:test";
import type { Lane, SubmissionId } from "@sluice/core";
import type { ProblemBody, TestApi } from "./api.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const FRANCE = { query: "capital of France", contexts: ["Paris"] };

export interface Accepted {
  readonly submission: { readonly id: SubmissionId; readonly counts: Record<string, number>; readonly status: string };
  readonly accepted: number;
}

export const send = (api: TestApi, key: string, body: unknown, more: { query?: string; type?: string } = {}) =>
  api.fetch(`/v1/documents${more.query ?? ""}`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": more.type ?? "application/json", "idempotency-key": key },
  });

/** NDJSON of this many documents of about 20 KB each: six fill a part. */
export const lines = (count: number, letter = "x") =>
  Array.from({ length: count }, (_, index) =>
    JSON.stringify({ id: `d${index}`, query: "q", contexts: [letter.repeat(20_000)] }),
  ).join("\n");
export const sendLines = (api: TestApi, key: string, body: string, query = "") =>
  send(api, key, body, { query, type: "application/x-ndjson" });

/** Queues that accept this many calls, and then none. */
export function queuesUntil(calls: number, error = "the queue is gone") {
  const taken: string[][] = [];
  const queue = {
    async sendBatch(messages: Iterable<{ body: string }>) {
      const bodies = [...messages].map((message) => message.body);
      if (taken.length >= calls) throw new Error(error);
      taken.push(bodies);
    },
  };
  return { queues: { interactive: queue, bulk: queue } satisfies Record<Lane, unknown>, taken };
}

export const problem = async (response: Response) => (await response.json()) as ProblemBody;
export const submissions = async () =>
  (await env.DB.prepare("SELECT count(*) AS n FROM submissions").first<{ n: number }>())?.n;
export const idsIn = (bodies: readonly string[]) =>
  bodies.flatMap((body) => (JSON.parse(body) as { documents: { id: string }[] }).documents.map((one) => one.id));
