import type { PushResult, Submission } from "../../index.ts";
import type { Estimate } from "../estimate.ts";
import { describeLocation, type Header } from "../formats/index.ts";
import type { Output } from "../output.ts";
import { shellCommand, shellWord } from "../shell.ts";
import { count, dollars, duration, oneLine, plural, pluralVerb } from "../text.ts";
import { failuresWords, lostOf, PUSH_LOST_AGAIN, WAS } from "../words.ts";
import type { PushFlags } from "./push-options.ts";
import type { RefusedLines } from "./push-refused.ts";

/** Maximum refused lines shown on a terminal. The file has all of them. */
const MAX_SHOWN = 10;

export function printEstimate(out: Output, name: string, estimate: Estimate): void {
  if (!out.human) return out.record({ estimate: { ...estimate, usd: rounded(estimate.usd) } });
  const { documents, contexts, refused, tokens, jobs, usd } = estimate;
  out.print(`${out.style(name, "bold")}  an estimate; nothing was sent\n`);
  out.table(
    [{ title: "" }, { title: "", side: "right" }, { title: "", whole: true }],
    [
      ["documents", count(documents), plural(contexts, "context")],
      ["tokens", `~${count(tokens)}`, "each context with its query"],
      ["jobs", `~${count(jobs)}`, "calls of the Batch API"],
      [
        "dollars",
        `~${dollars(usd.total)}`,
        `Workers AI ${dollars(usd.workers_ai)} · Queues ${dollars(usd.queues)} · D1 ${dollars(usd.d1)} · Workers ${dollars(usd.workers)}`,
      ],
    ],
  );
  out.print(out.style(`\n${estimate.assumptions.map((sentence) => `Assumed: ${sentence}.`).join("\n")}`, "dim"));
  if (refused > 0) out.print(out.style(`${count(refused)} more would be refused.`, "yellow"));
}

/** Rounds to a billionth of a dollar to hide binary rounding errors. */
function rounded(usd: Estimate["usd"]): Estimate["usd"] {
  const round = (value: number) => Number(value.toFixed(9));
  const { total, workers_ai, queues, d1, workers } = usd;
  return {
    total: round(total),
    workers_ai: round(workers_ai),
    queues: round(queues),
    d1: round(d1),
    workers: round(workers),
  };
}

/** Returns a function that reports a header row and how to push it as data. */
export function printHeader(out: Output): (header: Header) => void {
  return ({ line, names }) =>
    out.note(`Line ${line} is read as a header: ${oneLine(names.join(", "))}. Use --header no to read it as data.`);
}

export function printPushed(out: Output, pushed: PushResult, name: string, took: number): void {
  if (!out.human || pushed.submissions.length === 0) return;
  const ids = pushed.submissions.map(({ id }) => out.style(id, "bold")).join(", ");
  const { accepted, alreadyThere } = pushed;
  if (alreadyThere === accepted) {
    const all = accepted === 1 ? `The document in ${name} was` : `All ${plural(accepted, "document")} in ${name} were`;
    out.print(`${all} already pushed as ${ids}.`);
    out.print(out.style("To push again, use a new key: --key ANYTHING", "dim"));
    return;
  }
  out.print(`Pushed ${plural(accepted, "document")} as ${ids} in ${duration(took)}`);
  if (alreadyThere > 0)
    out.print(`${count(alreadyThere)} of them were already there: this push resumed an interrupted one.`);
}

export function printRefused(out: Output, refused: RefusedLines, file: string | null): void {
  if (refused.count === 0) return;
  const what = plural(refused.count, refused.lines.some(({ index }) => index !== undefined) ? "document" : "line");
  out.note(out.noteStyle(`${what} refused${file === null ? "" : `, written to ${file}`}`, "yellow"));
  for (const line of refused.lines.slice(0, MAX_SHOWN))
    out.note(`  ${describeLocation(line)}: ${oneLine(line.detail)}`);
  const more = refused.lines.length - MAX_SHOWN;
  if (more > 0) out.note(`  and ${count(more)} more`);
  if (refused.count > refused.lines.length)
    out.note(`  ${count(refused.count - refused.lines.length)} of them could not be located`);
}

export function reportAccepted(out: Output, { accepted, submissions }: PushResult): void {
  out.note(
    `${pluralVerb(accepted, "document", WAS)} accepted before the failure, as ${submissions.map(({ id }) => id).join(", ")}.`,
  );
}

/** A status command for each submission. A file larger than one request makes several. */
function followLines(submissions: readonly Submission[]): string[] {
  return submissions.map(({ id }) => shellCommand(["sluice", "status"], [id]));
}

/** Reports that the command stops following a push. */
export function noteFollowing(out: Output, end: string, submissions: readonly Submission[]): void {
  const [first = "", ...more] = followLines(submissions);
  const lines = more.length === 0 ? ` ${first}` : [first, ...more].map((line) => `\n  ${line}`).join("");
  out.note(`${end}Everything was sent and is being scored. To follow it:${lines}`);
}

/** Reports how many documents an interrupted push sent at most, and how to resume it. */
export function reportSent(out: Output, end: string, name: string, sent: number, flags: PushFlags): void {
  out.note(`${end}: ${sent === 0 ? "nothing" : `up to ${plural(sent, "document")}`} went out.`);
  const again = name === "stdin" ? "the same input" : "the same command";
  const key = flags.key === undefined ? "" : `, with --key ${shellWord(flags.key)},`;
  out.note(`To resume, run ${again} again${key} within 24 hours. No document is scored twice.`);
}

/** Prints how the documents ended and the next commands. */
export function printScored(out: Output, submissions: readonly Submission[], waited: boolean): void {
  const [first] = submissions;
  if (first === undefined) return;
  if (!waited) {
    out.print("");
    for (const line of followLines(submissions)) out.print(`Follow it:   ${line}`);
    return;
  }
  const sum = (name: keyof Submission["counts"]) => submissions.reduce((all, { counts }) => all + counts[name], 0);
  const parts = [out.style(`${count(sum("succeeded"))} succeeded`, "green")];
  const failures: Record<string, number> = {};
  for (const submission of submissions) {
    for (const [code, number] of Object.entries(submission.failures)) failures[code] = (failures[code] ?? 0) + number;
  }
  if (sum("failed") > 0) parts.push(out.style(`${count(sum("failed"))} failed (${failuresWords(failures)})`, "red"));
  if (sum("canceled") > 0) parts.push(out.style(`${count(sum("canceled"))} canceled`, "yellow"));
  out.print(parts.join(" · "));
  out.print("");
  for (const { id } of submissions) out.print(`Results:   ${shellCommand(["sluice", "results"], [id])}`);
  for (const submission of submissions) {
    if (submission.counts.failed === lostOf(submission)) continue;
    out.print(`Failures:  ${shellCommand(["sluice", "results", "--status", "failed"], [submission.id])}`);
  }
  const lost = lostOf({ failures });
  if (lost > 0) out.print(`${pluralVerb(lost, "document", WAS)} lost in the Queue. ${PUSH_LOST_AGAIN}`);
}

/** The output of a push for programs. */
export function recordOf(
  pushed: PushResult,
  submissions: readonly Submission[],
  refused: RefusedLines,
  file: string | null,
) {
  return {
    submissions,
    accepted: pushed.accepted,
    already_there: pushed.alreadyThere,
    idempotency_key: pushed.idempotencyKey,
    rejected_count: refused.count,
    rejected: refused.lines.map(({ first, at = first, index, detail }) => ({
      line: at,
      item: index === undefined ? null : index + 1,
      detail,
    })),
    rejected_file: file,
  };
}
