import { hasEnded, SluiceError, type Sluice } from "../../index.ts";
import type { Document, DocumentError, Job, Submission, SubmissionRetry } from "../../types.ts";
import { clientOf, CommandError, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { pollerTrouble, readStats } from "../poller-trouble.ts";
import { shellCommand } from "../shell.ts";
import { ago, count, oneLine, plural, pluralVerb } from "../text.ts";
import {
  CANCELED_NEXT,
  DOCUMENT_STATUS,
  documentCommand,
  failuresWords,
  lostOf,
  lostWords,
  PUSH_LOST_AGAIN,
  receivingWords,
  retryWords,
  stalledWords,
  submissionStatusWords,
  submissionWaitingWords,
  waitingWords,
  WAS,
} from "../words.ts";
import { printJob } from "./jobs.ts";

export interface WhyFlags {
  readonly collection: string;
}

/** Explains the state of a document, submission or job: what it waits for and what to do. */
export async function why(cli: Cli, id: string, flags: WhyFlags): Promise<ExitCode> {
  const { out, signal } = cli;
  const client = clientOf(cli);
  const job = id.startsWith("job_") ? await there(() => client.job(id, { signal })) : null;
  if (job !== null) {
    if (out.human) printJob(out, job, cli.now());
    else out.record({ job });
    return EXIT.ok;
  }
  const submission = id.startsWith("sub_") ? await there(() => client.submission(id, { signal })) : null;
  if (submission !== null) {
    const words = ofSubmission(submission, cli.now());
    if (!hasEnded(submission)) words.push(...(await troubles(cli, client)));
    if (out.human) out.print(words.join("\n"));
    else out.record({ submission, explanation: words });
    return EXIT.ok;
  }
  // The id of a document can have any form, and the default id begins with that of its submission.
  const document = await there(() => client.document(flags.collection, id, { topK: 1, signal }));
  if (document === null) {
    const stalled = await stalledOnes(client, id, flags.collection, signal);
    throw new CommandError(EXIT.error, [nothingCalled(id, flags.collection), ...stalled].join("\n"));
  }
  return whyDocument(cli, client, document);
}

/** Finds what the id names; `null` if nothing exists or the key may not see it. */
async function there<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SluiceError && error.code === "not-found") return null;
    throw error;
  }
}

/** How many recent submissions are searched for a document that is not recorded. */
const MAX_SUBMISSIONS_READ = 100;
const MAX_SHOWN = 3;

/**
 * Describes recent submissions that could include the document. A document that is lost or still in the Queue is known
 * only through its submission.
 */
async function stalledOnes(client: Sluice, id: string, collection: string, signal: AbortSignal): Promise<string[]> {
  const words: string[] = [];
  const list = client.submissions({ collection, status: "stalled", limit: MAX_SUBMISSIONS_READ, signal });
  const { data } = (await there(() => list.page())) ?? { data: [] };
  for (const submission of data) {
    // A document without an id is named after its submission.
    if (submission.stalled === null || (id.startsWith("sub_") && !id.startsWith(submission.id))) continue;
    words.push(`If it was part of ${submission.id}: ${stalledWords(submission.stalled)}.`);
  }
  return words.slice(0, MAX_SHOWN);
}

function nothingCalled(id: string, collection: string): string {
  const kinds = id.startsWith("job_")
    ? "job or document"
    : id.startsWith("sub_")
      ? "submission or document"
      : "document";
  return (
    `No ${kinds} ${oneLine(id)} in collection ${collection} (use --collection for another one). ` +
    "A document pushed a moment ago may not be recorded yet: check its submission."
  );
}

async function whyDocument(cli: Cli, client: Sluice, document: Document): Promise<ExitCode> {
  const { out, signal } = cli;
  const job = document.job_id === null ? null : await jobOf(client, document.job_id, signal);
  // Whether a retry is pending, or whether it is canceled.
  const { submission_id: from } = document;
  const depends = document.status === "failed" || document.waiting?.reason === "dispatch";
  const submission = depends ? await there(() => client.submission(from, { signal })) : null;
  const words = ofDocument(document, submission, cli.now());
  if (document.finalized_at === null) words.push(...(await troubles(cli, client)));
  if (!out.human) {
    out.record({ document, job, explanation: words });
    return EXIT.ok;
  }
  out.print(words.join("\n"));
  if (job !== null) {
    out.print("");
    printJob(out, job, cli.now());
  }
  return EXIT.ok;
}

async function troubles({ signal, now }: Cli, client: Sluice): Promise<string[]> {
  const stats = await readStats(client, signal);
  const trouble = stats === null ? null : pollerTrouble(stats, now());
  return trouble === null ? [] : [trouble];
}

/**
 * Returns the job, or `null` if the key may not read jobs or the job is gone. The document has enough detail without
 * it.
 */
async function jobOf(client: Sluice, id: string, signal: AbortSignal): Promise<Job | null> {
  try {
    return await client.job(id, { signal });
  } catch (error) {
    if (error instanceof SluiceError && (error.status === 403 || error.status === 404)) return null;
    throw error;
  }
}

function ofDocument(document: Document, from: Submission | null, now: number): string[] {
  const { id, status, error, waiting, submission_id: submission } = document;
  const attempts = document.attempts === 0 ? "" : `, in attempt ${document.attempts}`;
  const since = document.finalized_at === null ? "" : ` ${ago(document.finalized_at, now)}${attempts}`;
  const words = [`${id} ${DOCUMENT_STATUS[status]}${since}.`];
  if (document.stale) words.push("It still shows the scores from an older version.");
  switch (status) {
    case "succeeded":
      return [...words, `See its scores: ${documentCommand("scores", document)}`];
    case "canceled":
      return [...words, "It was canceled before it was dispatched. Push it again to score it."];
    case "failed":
      if (error === null) return words;
      return [...words, `${error.code}: ${error.message}`, nextTry(error, submission, from, now)];
    case "queued":
    case "processing":
      if (waiting === null) return [...words, "It is being processed. No action is needed."];
      if (from?.status === "canceling") return [...words, `Its submission was canceled: ${CANCELED_NEXT}.`];
      return [...words, `Waiting:  ${waitingWords(waiting, { model: document.model, submission }, now)}.`];
  }
}

/** The next step for a failed document. `submission` is `null` if it is unknown. */
function nextTry({ code, retryable }: DocumentError, id: string, submission: Submission | null, now: number): string {
  if (submission !== null && submission.retry !== null) return retryInProgress(submission.retry, now);
  if (!retryable) return "A retry would fail the same way. Fix the document and push it again.";
  if (submission?.status === "canceled" || submission?.status === "canceling")
    return "Its submission was canceled and cannot be retried. Push the document again.";
  return `A retry may help: ${shellCommand(["sluice", "retry", "--code", code], [id])}`;
}

function retryInProgress(retry: SubmissionRetry, now: number): string {
  return `A retry was requested ${ago(retry.since, now)}: ${retryWords(retry)}.`;
}

function ofSubmission(submission: Submission, now: number): string[] {
  const { id, status, counts, stalled, failures, retry } = submission;
  const state = submissionStatusWords(submission);
  const open = counts.queued + counts.processing;
  const so = status === "receiving" ? " sent so far" : "";
  const isRetrying = status === "processing" && retry !== null;
  const rest =
    open === 0 && isRetrying
      ? "a retry is about to queue failed documents again"
      : open === 0
        ? counts.total === 1
          ? "its document ended"
          : `all ${plural(counts.total, "document")}${so} ended`
        : `${count(open)} of ${plural(counts.total, "document")} ${open === 1 ? "has" : "have"} not ended`;
  const words = [`${id} is ${state}: ${rest}.`];
  const receiving = receivingWords(submission);
  if (receiving !== null) words.push(`${receiving[0]?.toUpperCase()}${receiving.slice(1)}.`);
  if (submission.incomplete)
    words.push(
      "Its push was interrupted, and it was closed with the documents sent so far. Push the same input again to add the rest.",
    );
  if (stalled !== null) words.push(`${stalledWords(stalled)}.`);
  const waiting = submissionWaitingWords(submission, now);
  if (waiting !== null) words.push(`Waiting: ${waiting}.`);
  if (counts.failed === 0) return words;
  const lost = lostOf(submission);
  const stored = Object.values(failures).reduce((sum, one) => sum + one, 0);
  const recorded = stored - lost;
  words.push(`${plural(counts.failed, "document")} failed${stored === 0 ? "" : `: ${failuresWords(failures)}`}.`);
  if (recorded > 0) words.push(`See them:  ${shellCommand(["sluice", "results", "--status", "failed"], [id])}`);
  if (retry !== null) words.push(retryInProgress(retry, now));
  else if (status === "canceled" || status === "canceling")
    words.push("It was canceled and cannot be retried. Push the documents again to score them.");
  else {
    if (recorded > 0) words.push(`Retry:     ${shellCommand(["sluice", "retry"], [id])}`);
    if (lost > 0) words.push(lostWords(lost));
    const deleted = counts.failed - stored;
    if (deleted > 0) words.push(`${pluralVerb(deleted, "document", WAS)} deleted since. ${PUSH_LOST_AGAIN}`);
  }
  return words;
}
