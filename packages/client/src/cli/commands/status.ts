import { hasEnded } from "../../index.ts";
import type { Submission, SubmissionStatusFilter } from "../../types.ts";
import { clientOf, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { pollerTrouble, readStats } from "../poller-trouble.ts";
import { describeStandIn } from "../scorer.ts";
import { take } from "../take.ts";
import { ago, count, plural, pluralVerb } from "../text.ts";
import {
  ended,
  failuresWords,
  lostOf,
  PUSH_LOST_AGAIN,
  receivingWords,
  retryWords,
  stalledWords,
  submissionCell,
  submissionWaitingWords,
  WAS,
} from "../words.ts";

export interface StatusFlags {
  readonly label?: string;
  readonly collection?: string;
  readonly status?: SubmissionStatusFilter;
  readonly limit: number;
}

/** Shows one submission or lists the newest ones. */
export async function status(cli: Cli, id: string | undefined, flags: StatusFlags): Promise<ExitCode> {
  const { out, signal } = cli;
  const client = clientOf(cli);
  if (id !== undefined) {
    const submission = await client.submission(id, { signal });
    if (!out.human) out.record(submission);
    else {
      printSubmission(out, submission, cli.now());
      const stats = await readStats(client, signal);
      const trouble = stats === null || hasEnded(submission) ? null : pollerTrouble(stats, cli.now());
      if (trouble !== null) out.note(out.noteStyle(trouble, "yellow"));
      const standIn = stats === null ? null : describeStandIn(stats.scorer);
      if (standIn !== null) out.note(standIn);
    }
    return submission.counts.failed + submission.counts.canceled > 0 ? EXIT.failed : EXIT.ok;
  }
  const { items: data, first } = await take(client.submissions({ ...flags, signal }), flags.limit);
  const { counts } = first;
  if (!out.human) {
    for (const submission of data) out.record(submission);
    return EXIT.ok;
  }
  if (data.length === 0) out.print("No submissions.");
  else printSubmissions(out, data, cli.now());
  if (counts !== undefined && data.length > 0) {
    out.print(
      `\nTotal for the label: ${count(counts.succeeded)} of ${plural(counts.total, "document")} succeeded, ${count(counts.failed)} failed`,
    );
  }
  return EXIT.ok;
}

function printSubmissions(out: Output, submissions: readonly Submission[], now: number): void {
  out.table(
    [
      { title: "SUBMISSION" },
      { title: "STATUS" },
      { title: "ENDED", side: "right" },
      { title: "FAILED", side: "right" },
      { title: "PUSHED", side: "right" },
      { title: "COLLECTION" },
      { title: "LABEL" },
    ],
    submissions.map((submission) => [
      submission.id,
      submissionCell(submission),
      ended(submission),
      submission.counts.failed > 0 ? { text: count(submission.counts.failed), style: "red" as const } : "0",
      ago(submission.created_at, now),
      submission.collection,
      submission.label ?? "",
    ]),
  );
}

export function printSubmission(out: Output, submission: Submission, now: number): void {
  const { counts, usage, stalled } = submission;
  const state = submissionCell(submission);
  const shown = typeof state === "string" ? state : out.style(state.text, state.style);
  out.print(`${out.style(submission.id, "bold")}  ${shown}\n`);
  const rows: [string, string][] = (["queued", "processing", "succeeded", "failed", "canceled", "total"] as const).map(
    (name) => [name, count(counts[name])],
  );
  const failures = failuresWords(submission.failures);
  out.table(
    [{ title: "" }, { title: "", side: "right" }, { title: "" }],
    rows.map(([name, figure]) => [name, figure, name === "failed" ? failures : ""]),
  );
  out.print("");
  const facts: [string, string][] = [
    [
      "pushed",
      `${ago(submission.created_at, now)}${submission.completed_at === null ? "" : `, ended ${ago(submission.completed_at, now)}`}`,
    ],
    [
      "into",
      `collection ${submission.collection}, lane ${submission.lane}${submission.label === null ? "" : `, label ${submission.label}`}`,
    ],
    [
      "usage",
      `${count(usage.tokens)} tokens in ${plural(usage.jobs, "job")}${unconfirmed(usage.unconfirmed_dispatches)}`,
    ],
  ];
  const waiting = submissionWaitingWords(submission, now);
  if (waiting !== null) facts.push(["waits", waiting]);
  if (submission.retry !== null) facts.push(["retry", retryWords(submission.retry)]);
  if (stalled !== null) {
    facts.push(["stalled", stalledWords(stalled)]);
  }
  const lost = lostOf(submission);
  if (lost > 0) facts.push(["lost", `${pluralVerb(lost, "document", WAS)} lost in the Queue. ${PUSH_LOST_AGAIN}`]);
  const receiving = receivingWords(submission);
  if (receiving !== null) facts.push(["receiving", receiving]);
  if (submission.incomplete)
    facts.push(["incomplete", "the push was interrupted and closed with the documents sent so far"]);
  out.facts(facts);
}

function unconfirmed(dispatches: number): string {
  return dispatches === 0 ? "" : `, ${plural(dispatches, "dispatch", "dispatches")} unconfirmed`;
}
