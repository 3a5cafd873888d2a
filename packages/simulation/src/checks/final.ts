import type { Push } from "../world/pushes.ts";
import type { World } from "../world/world.ts";
import { alertsFlaw } from "./alerts.ts";
import { bisectionFlaw } from "./bisection.ts";
import { contextsFlaw } from "./contexts.ts";
import { expectedScores } from "./outcome-rules.ts";
import { isOpen, type Version } from "./state.ts";

/** Returns the flaw in the final state, after the faults stopped and everything ended, or `null`. */
export function finalFlaw(world: World, pushes: readonly Push[]): string | null {
  return (
    openFlaw(world) ??
    pushesFlaw(world, pushes) ??
    paymentFlaw(world) ??
    bisectionFlaw(world) ??
    viewsFlaw(world) ??
    rowsFlaw(world) ??
    contextsFlaw(world) ??
    totalsFlaw(world) ??
    alertsFlaw(world)
  );
}

/** Describes an open job, document, submission, retry or staged part, or returns `null`. */
export function openFlaw({ mirror }: World): string | null {
  for (const { row } of mirror.jobs.values()) if (isOpen(row.status)) return `${row.id} is still ${row.status}`;
  for (const version of mirror.versions.values()) {
    if (version.recorded && !version.deleted && version.outcome === null) return `${version.key} has not ended`;
  }
  for (const { row } of mirror.submissions.values()) {
    if (row.completed_at === null) return `${row.id} is not completed: ${JSON.stringify(row)}`;
    const ended = row.succeeded + row.failed + row.canceled + row.lost;
    if (ended !== row.total) return `${row.id} has ${row.total} documents, of which ${ended} ended`;
  }
  if (mirror.retries.size > 0) return "a retry is not done";
  if (mirror.staged.size > 0) return `staged parts are left: ${[...mirror.staged.keys()].join(", ")}`;
  return null;
}

/** Checks that every accepted document is recorded, or counted as lost because the Queue lost it. */
function pushesFlaw({ mirror, sentParts }: World, pushes: readonly Push[]): string | null {
  for (const { submission, accepted, documents, isKeyed } of pushes) {
    if (submission === null) {
      if (accepted || isKeyed) return "a push has no submission, but was accepted or has a key";
      continue;
    }
    const row = mirror.submissions.get(submission)?.row;
    if (row === undefined) return `${submission} is gone`;
    let lost = 0;
    for (const [key, part] of sentParts) if (key.startsWith(submission) && part.taken === 0) lost += part.documents;
    if (!accepted) {
      if (isKeyed) return `a push under a key was not accepted after the faults stopped: ${submission}`;
      continue;
    }
    if (row.total !== documents.length)
      return `${submission} was accepted with ${documents.length} documents, but its total is ${row.total}`;
    if (row.incomplete === 1) return `${submission} was accepted, but is reported as incomplete`;
    if (row.lost !== lost) return `${submission} counts ${row.lost} documents as lost, but the Queue lost ${lost}`;
    if (row.recorded !== documents.length - lost)
      return `${submission} has ${row.recorded} recorded documents, but ${lost} of ${documents.length} were lost`;
  }
  for (const [key, part] of sentParts) {
    const [submission = ""] = key.split(" ");
    const row = mirror.submissions.get(submission)?.row;
    if (part.taken > 0 && part.documents > 0 && row !== undefined && row.recorded === 0)
      return `${submission} has no recorded document of those that the Queue kept`;
  }
  return null;
}

/**
 * Checks that D1 counts every accepted batch except a job's last one, with its reason, in the job and in each
 * submission that was in it.
 */
function paymentFlaw({ mirror, sqlite }: World): string | null {
  for (const { row, dispatches } of mirror.jobs.values()) {
    const taken = [...dispatches.values()].filter((dispatch) => dispatch.requestId !== null).length;
    const counted = row.unconfirmed_dispatches + row.repeated_dispatches;
    if (taken > 1 + counted) return `${row.id} was paid ${taken} times, but counts ${counted} repetitions`;
  }
  for (const { row, unconfirmed } of mirror.submissions.values()) {
    if (row.unconfirmed_dispatches !== unconfirmed)
      return `${row.id} counts ${row.unconfirmed_dispatches} unconfirmed dispatches, but its jobs ${unconfirmed}`;
  }
  const [uncounted] = sqlite.rows(`
    SELECT id FROM jobs WHERE unconfirmed_dispatches + repeated_dispatches > 0 AND finalized_sequence IS NULL`);
  return uncounted === undefined
    ? null
    : `the repetitions of ${String(uncounted["id"])} are missing in the totals of all jobs`;
}

function viewsFlaw({ mirror, sqlite }: World): string | null {
  const newest = new Map<string, Version>();
  const failed = new Map<string, Version>();
  for (const version of mirror.versions.values()) {
    const { outcome, deleted } = version;
    if (deleted || outcome === null || outcome.status === "canceled") continue;
    const key = `${version.collection} ${version.document}`;
    if (outcome.status === "succeeded") keepNewest(newest, key, version);
    keepNewest(failed, key, version);
  }
  for (const [key, version] of failed) if (version.outcome?.status !== "failed") failed.delete(key);

  const expected: string[] = [];
  const best: string[] = [];
  const ranked: string[] = [];
  for (const version of newest.values()) {
    const { query, contexts } = version.content;
    for (const [place, [index, score, id]] of expectedScores(version.content).entries()) {
      const line = `${version.collection} ${version.document} ${String(id ?? index)} ${String(index)} ${String(score)} ${place + 1} ${version.submission}`;
      expected.push(line);
      ranked.push(`${line} ${query} ${version.hasTexts ? contexts[Number(index)] : null}`);
      if (place === 0) best.push(line);
    }
  }
  const columns = "collection, document_id, context_id, context_index, score, rank, submission_id";
  const line = (row: Record<string, unknown>) => Object.values(row).map(String).join(" ");
  return (
    difference("scores", expected, sqlite.rows(`SELECT ${columns} FROM scores`).map(line)) ??
    difference("best", best, sqlite.rows(`SELECT ${columns} FROM best`).map(line)) ??
    difference("ranked", ranked, sqlite.rows(`SELECT ${columns}, query, text FROM ranked`).map(line)) ??
    difference(
      "failures",
      [...failed.values()].map(
        (version) => `${version.collection} ${version.document} ${version.outcome?.code} ${version.submission}`,
      ),
      sqlite.rows("SELECT collection, document_id, code, submission_id FROM failures").map(line),
    )
  );
}

function keepNewest(versions: Map<string, Version>, key: string, version: Version): void {
  const known = versions.get(key);
  if (known === undefined || known.submission < version.submission) versions.set(key, version);
}

function difference(view: string, expected: readonly string[], shown: readonly string[]): string | null {
  const there = new Set(shown);
  const missing = expected.find((line) => !there.has(line));
  if (missing !== undefined) return `the view ${view} lacks: ${missing}`;
  if (shown.length === expected.length) return null;
  const wanted = new Set(expected);
  return `the view ${view} shows an unexpected row: ${shown.find((line) => !wanted.has(line)) ?? "a row twice"}`;
}

/** Checks that the tables hold exactly the rows that transactions reported. */
function rowsFlaw({ mirror, sqlite }: World): string | null {
  const documents = sqlite.rows("SELECT count(*) AS count FROM documents")[0]?.["count"];
  const there = [...mirror.versions.values()].filter((version) => version.recorded && !version.deleted).length;
  if (documents !== there) return `D1 has ${String(documents)} documents, expected ${there}`;
  const malformed = sqlite
    .rows("SELECT reason, body FROM malformed_messages")
    .find(({ body }) => mirror.submissions.has(/"submission":"(sub_[^"]*)"/.exec(String(body))?.[1] ?? ""));
  return malformed === undefined ? null : `a valid message was quarantined: ${String(malformed["reason"])}`;
}

/** Checks that each total is the sum of its rows. */
function totalsFlaw({ mirror, sqlite }: World): string | null {
  // Deleted rows stay in the totals, which `statsFlaw` compares with all submissions and jobs.
  const isComplete = (rows: Iterable<{ readonly deleted: boolean }>) => [...rows].every(({ deleted }) => !deleted);
  const folded = `id <= (SELECT coalesce(max(submissions_through), '') FROM folds)
    AND id NOT IN (SELECT submission_id FROM unfolded_submissions)`;
  const ended = "finalized_sequence <= (SELECT coalesce(max(jobs_through), 0) FROM folds)";
  const sums = [
    [
      "documents",
      "total, succeeded, failed, canceled, tokens",
      "totals WHERE kind = 'lane'",
      `submissions WHERE ${folded}`,
    ],
    [
      "dispatches",
      "tokens, unconfirmed_dispatches, repeated_dispatches",
      "totals WHERE kind = 'jobs'",
      `jobs WHERE ${ended}`,
    ],
  ] as const;
  for (const [what, columns, totals, rows] of sums) {
    if (!isComplete(what === "documents" ? mirror.submissions.values() : mirror.jobs.values())) continue;
    const select = columns.split(", ").map((column) => `coalesce(sum(${column}), 0) AS ${column}`);
    const [added, there] = [totals, rows].map((from) =>
      JSON.stringify(sqlite.rows(`SELECT ${select.join(", ")} FROM ${from}`)),
    );
    if (added !== there) return `the totals of ${what} are ${added}, but the rows add up to ${there}`;
  }
  return null;
}
