import type { Job, JobStatus, Lane } from "../../types.ts";
import { clientOf, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { take } from "../take.ts";
import { ago, bytes, count, duration, plural } from "../text.ts";
import { statusCell, waitingBrief, waitingWords, type Waiter } from "../words.ts";

export interface JobsFlags {
  readonly status?: JobStatus;
  readonly lane?: Lane;
  readonly limit: number;
}

/** Shows one job or lists the newest ones. */
export async function jobs(cli: Cli, id: string | undefined, flags: JobsFlags): Promise<ExitCode> {
  const { out, signal } = cli;
  const client = clientOf(cli);
  const found =
    id === undefined
      ? (await take(client.jobs({ ...flags, signal }), flags.limit)).items
      : [await client.job(id, { signal })];
  if (!out.human) {
    for (const job of found) out.record(job);
  } else if (id !== undefined) {
    for (const job of found) printJob(out, job, cli.now());
  } else if (found.length === 0) {
    out.print("No jobs.");
  } else {
    out.table(
      [
        { title: "JOB" },
        { title: "STATUS" },
        { title: "LANE" },
        { title: "DOCUMENTS", side: "right" },
        { title: "BYTES", side: "right" },
        { title: "AGE", side: "right" },
        { title: "TRIES", side: "right" },
        { title: "WAITS FOR" },
      ],
      found.map((job) => [
        job.id,
        statusCell(job.status),
        job.lane,
        count(job.document_count),
        bytes(job.payload_bytes),
        duration(job.age_seconds * 1_000),
        String(job.attempts.at(-1)?.attempt ?? 0),
        job.waiting === null ? "" : waitingBrief(job.waiting, cli.now()),
      ]),
    );
  }
  return EXIT.ok;
}

/** A job does not name its submissions, because several submissions share it. */
function waiterOf({ model }: Job): Waiter {
  return { model, submission: null };
}

export function printJob(out: Output, job: Job, now: number): void {
  const state = statusCell(job.status);
  out.print(
    `${out.style(job.id, "bold")}  ${typeof state === "string" ? state : out.style(state.text, state.style)}\n`,
  );
  const facts: [string, string][] = [
    [
      "holds",
      `${plural(job.document_count, "document")}, ${plural(job.context_count, "context")}, ${bytes(job.payload_bytes)}`,
    ],
    ["lane", `${job.lane}, ${job.model}`],
    ["age", duration(job.age_seconds * 1_000)],
  ];
  if (job.request_id !== null) facts.push(["request", job.request_id]);
  if (job.parent_id !== null) facts.push(["follows", job.parent_id]);
  if (job.merged_into !== null) facts.push(["merged into", job.merged_into]);
  if (job.waiting !== null) facts.push(["waits", waitingWords(job.waiting, waiterOf(job), now)]);
  if (job.usage.tokens !== null) facts.push(["tokens", count(job.usage.tokens)]);
  const { unconfirmed_dispatches: unconfirmed, repeated_dispatches: repeated } = job.usage;
  if (unconfirmed + repeated > 0)
    facts.push(["repeats", `${count(unconfirmed)} unconfirmed, ${count(repeated)} given up on`]);
  out.facts(facts);
  if (job.attempts.length === 0) return;
  out.print("");
  out.table(
    [
      { title: "ATTEMPT", side: "right" },
      { title: "STARTED", side: "right" },
      { title: "TOOK", side: "right" },
      { title: "OUTCOME" },
    ],
    job.attempts.map(({ attempt, started_at: started, ended_at: over, error }) => [
      String(attempt),
      ago(started, now),
      over === null ? "" : duration(Date.parse(over) - Date.parse(started)),
      error === null ? (over === null ? "open" : "answered") : `${error.reason}: ${error.message}`,
    ]),
  );
}
