import type { Job, Submission } from "@sluice/client/library";
import { bytes, count, duration, plural } from "@sluice/client/terminal";
import { FAILURES, type FailureCode } from "@sluice/core";
import { stage, sum } from "./figures.ts";
import type { Pushed } from "./push-file.ts";
import type { File } from "./read-file.ts";
import { refusedLines } from "./refused.ts";

export function pushedLines(pushed: Pushed, file: File, milliseconds: number): string[] {
  const { submission, accepted, refusedCount, refused } = pushed;
  const figure = `${plural(accepted, "document")}, ${bytes(file.bytes)} in ${duration(milliseconds)}: ${submission.id}`;
  const lines = [stage("pushed", figure)];
  if (refusedCount > 0) lines.push(stage("refused", plural(refusedCount, "line")));
  return [...lines, ...refusedLines(refused).map((line) => `          ${line}`)];
}

const MAX_REQUESTS = 3;

export function dispatchedLine(jobs: readonly Job[]): string {
  const documents = sum(jobs, (job) => job.document_count);
  const requests = jobs.slice(0, MAX_REQUESTS).map((job) => job.request_id);
  const more = jobs.length > MAX_REQUESTS ? ` and ${count(jobs.length - MAX_REQUESTS)} more` : "";
  const figure = `${plural(jobs.length, "job")} of ${plural(documents, "document")}, request_id ${requests.join(", ")}${more}`;
  return stage("dispatched", figure);
}

export function scoredLine({ counts }: Submission, scores: number, milliseconds: number): string {
  const figure = `${plural(counts.succeeded, "document")}, ${plural(scores, "score")}, ${duration(milliseconds)} after the push began`;
  return stage("scored", figure);
}

/** One line for each reason why documents of a submission did not succeed, with the next step. */
export function notSucceeded({ id, counts, failures }: Submission): string[] {
  const lines = Object.entries(failures).map(
    ([code, n]) => `${plural(n, "document")} failed: ${code}. ${advice(code, id)}`,
  );
  if (counts.canceled > 0) lines.push(`${plural(counts.canceled, "document")} canceled, as requested.`);
  return lines;
}

function advice(code: string, submission: string): string {
  if (!Object.hasOwn(FAILURES, code)) return "";
  const { message, retryable } = FAILURES[code as FailureCode];
  if (code === "message_lost") return message;
  return retryable
    ? `${message} To retry them: POST /v1/submissions/${submission}/retry`
    : `${message} Fix these documents, then push them again.`;
}
