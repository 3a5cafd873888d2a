import { print } from "@sluice/client/terminal";
import { FAILURES, type FailureCode } from "@sluice/core";
import * as z from "zod";
import { rejectedLines, type Pushed, type Submission } from "./api.ts";
import { queryD1 } from "./d1.ts";
import { count, counted, seconds, stage } from "./figures.ts";
import type { JobFound } from "./jobs.ts";

export function tellPushed(pushed: Pushed, bytes: number, ms: number): void {
  const figure = `${counted(pushed.accepted, "document")}, ${count(bytes)} bytes in ${Math.round(ms)} ms: ${pushed.submission.id}`;
  print(stage("pushed", figure));
  if (pushed.rejected_count === 0) return;
  print(stage("refused", counted(pushed.rejected_count, "line")));
  for (const line of rejectedLines(pushed.rejected)) print(`          ${line}`);
}

const MOST_REQUESTS = 3;

export function tellDispatched(jobs: readonly JobFound[]): void {
  const documents = jobs.reduce((sum, job) => sum + job.document_count, 0);
  const requests = jobs.slice(0, MOST_REQUESTS).map((job) => job.request_id);
  const more = jobs.length > MOST_REQUESTS ? ` and ${count(jobs.length - MOST_REQUESTS)} more` : "";
  const figure = `${counted(jobs.length, "job")} of ${counted(documents, "document")}, request_id ${requests.join(", ")}${more}`;
  print(stage("dispatched", figure));
}

const SCORES = `SELECT count(*) AS scores FROM parts p CROSS JOIN json_each(p.documents) d
  CROSS JOIN scores s ON s.document_id = d.value AND s.submission_id = p.submission_id
    AND s.collection = (SELECT collection FROM submissions WHERE id = p.submission_id)
  WHERE p.submission_id = ?1`;

export async function tellScored(url: string, end: Submission, ms: number): Promise<void> {
  const [row] = await queryD1(url, SCORES, [end.id], z.object({ scores: z.number() }));
  const figure = `${counted(end.counts.succeeded, "document")}, ${counted(row?.scores ?? 0, "score")}, ${seconds(ms)} after the push began`;
  print(stage("scored", figure));
}

/** A line for each reason why documents of a submission did not succeed, with what to do. */
export function notSucceeded({ id, counts, failures }: Submission): string[] {
  const lines = Object.entries(failures).map(
    ([code, n]) => `${counted(n, "document")} failed: ${code}. ${advice(code, id)}`,
  );
  if (counts.canceled > 0) lines.push(`${counted(counts.canceled, "document")} canceled, as was asked for.`);
  return lines;
}

function advice(code: string, submission: string): string {
  if (!Object.hasOwn(FAILURES, code)) return "";
  const { message, retryable } = FAILURES[code as FailureCode];
  if (code === "message_lost") return message;
  return retryable
    ? `${message} Queue them again: POST /v1/submissions/${submission}/retry`
    : `${message} Change these documents, then push them again.`;
}

export function refusedLines({ rejected_count: n }: Pushed): string {
  const [were, them, their] = n === 1 ? ["was", "it", "its"] : ["were", "them", "their"];
  return (
    `${counted(n, "line")} of the file ${were} refused, for the reasons above: correct ${them}, and push ${them} ` +
    `in a file of ${their} own. What was accepted is in D1 and stays there.`
  );
}
