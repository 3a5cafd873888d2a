import { shellCommand } from "@sluice/core/shell";
import { hasEnded, SluiceError, type Sluice } from "../../index.ts";
import type { Document, DocumentError, Job, Submission, SubmissionRetry } from "../../types.ts";
import { clientOf, CommandError, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { pollerTrouble, readStats } from "../poller-trouble.ts";
import { ago, count, oneLine, plural } from "../text.ts";
import {
  documentCommand,
  failuresWords,
  receivingWords,
  retryWords,
  stalledWords,
  submissionStatusWords,
  waitingWords,
} from "../words.ts";
import { printJob } from "./jobs.ts";

export interface WhyFlags {
  readonly collection: string;
}

/** Says of a document, a submission or a job how it stands, what it waits for, and what to do. */
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
  // A document may have any id, and one without is named after its submission.
  const document = await there(() => client.document(flags.collection, id, { topK: 1, signal }));
  if (document === null) {
    const stalled = await stalledOnes(client, id, flags.collection, signal);
    throw new CommandError(EXIT.error, [nothingCalled(id, flags.collection), ...stalled].join("\n"));
  }
  return whyDocument(cli, client, document);
}

/** What there is; `null`: nothing, or nothing that the key may see. */
async function there<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SluiceError && error.code === "not-found") return null;
    throw error;
  }
}

/** Submissions seen through for a document that is not recorded: those that were pushed last. */
const MAX_JOBS_READ = 100;
const MAX_SHOWN = 3;

/** A document that the Queue lost, or has still, is known by its submission only: what there is to say of such ones. */
async function stalledOnes(client: Sluice, id: string, collection: string, signal: AbortSignal): Promise<string[]> {
  const words: string[] = [];
  const list = client.submissions({ collection, status: "stalled", limit: MAX_JOBS_READ, signal });
  const { data } = (await there(() => list.page())) ?? { data: [] };
  for (const submission of data) {
    // One without an id of its own is named after its submission.
    if (submission.stalled === null || (id.startsWith("sub_") && !id.startsWith(submission.id))) continue;
    words.push(`If it came with ${submission.id}: ${stalledWords(submission.stalled)}.`);
  }
  return words.slice(0, MAX_SHOWN);
}

function nothingCalled(id: string, collection: string): string {
  const kinds = id.startsWith("job_")
    ? "job and no document"
    : id.startsWith("sub_")
      ? "submission and no document"
      : "document";
  return (
    `There is no ${kinds} ${oneLine(id)} in the collection ${collection} (--collection names another). ` +
    "A document that was pushed a moment ago may be on its way: look at its submission."
  );
}

async function whyDocument(cli: Cli, client: Sluice, document: Document): Promise<ExitCode> {
  const { out, signal } = cli;
  const job = document.job_id === null ? null : await jobOf(client, document.job_id, signal);
  // Whether a further try is on its way.
  const { submission_id: from } = document;
  const submission = document.status === "failed" ? await there(() => client.submission(from, { signal })) : null;
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

/** A key may not see jobs, and old ones are gone: the document has enough to tell. */
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
  const attempts = document.attempts === 0 ? "" : `, at attempt ${document.attempts}`;
  const since = document.finalized_at === null ? "" : ` ${ago(document.finalized_at, now)}${attempts}`;
  const words = [
    `${id} ${status === "processing" || status === "queued" ? "is" : ""} ${status}${since}.`.replace("  ", " "),
  ];
  if (document.stale) words.push("It still shows the scores of an older version.");
  switch (status) {
    case "succeeded":
      return [...words, `Its scores: ${documentCommand("scores", document)}`];
    case "canceled":
      return [...words, "It was canceled before it was dispatched. Push it again to have it scored."];
    case "failed":
      if (error === null) return words;
      return [...words, `${error.code}: ${error.message}`, nextTry(error, submission, from, now)];
    case "queued":
    case "processing":
      if (waiting === null) return [...words, "It is on its way; nothing is to be done."];
      return [...words, `It waits: ${waitingWords(waiting, { model: document.model, submission }, now)}.`];
  }
}

/** What helps a document of a submission that failed; the submission is `null` if it is not known. */
function nextTry({ code, retryable }: DocumentError, id: string, submission: Submission | null, now: number): string {
  if (submission !== null && submission.retry !== null) return retryInProgress(submission.retry, now);
  if (!retryable) return "Another try would fail the same way: fix the document and push it again.";
  if (submission?.status === "canceled" || submission?.status === "canceling")
    return "Its submission was canceled and cannot be retried: push the document again.";
  return `Another try may help: ${shellCommand(["sluice", "retry", "--code", code], [id])}`;
}

function retryInProgress(retry: SubmissionRetry, now: number): string {
  return `A retry was requested ${ago(retry.since, now)}: ${retryWords(retry)}.`;
}

function ofSubmission(submission: Submission, now: number): string[] {
  const { id, status, counts, stalled, waiting, failures, retry } = submission;
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
    words.push("Its push broke off, and it was closed with what had been sent: push the same again for the rest.");
  if (stalled !== null) words.push(`${stalledWords(stalled)}.`);
  if (waiting !== null)
    words.push(`It waits: ${waitingWords(waiting, { model: submission.model, submission: id }, now)}.`);
  if (counts.failed > 0) {
    words.push(`${plural(counts.failed, "document")} failed: ${failuresWords(failures)}.`);
    words.push(`See them:  ${shellCommand(["sluice", "results", "--status", "failed"], [id])}`);
    if (retry !== null) words.push(retryInProgress(retry, now));
    else if (status === "canceled" || status === "canceling")
      words.push("It was canceled and cannot be retried: push them again to have them scored.");
    else words.push(`Try again: ${shellCommand(["sluice", "retry"], [id])}`);
  }
  return words;
}
