import { describe, expect, it } from "vitest";
import { MAX_BATCHES, type PauseReason } from "@sluice/core";
import type { FailureClass, Refusal } from "@sluice/inference";
import { afterRefusal, type RefusalDecision } from "../../src/job/after-refusal.ts";

const NOW = Date.UTC(2026, 8, 21, 14, 13, 20);
const MIDNIGHT = Date.UTC(2026, 8, 22);
const RUN = 60_000;
const MINUTE = 60_000;

const refusal = (failureClass: FailureClass, more: Partial<Refusal> = {}): Refusal => ({
  class: failureClass,
  code: null,
  message: "the service's words",
  retryAfterSeconds: null,
  mayBeRunning: false,
  ...more,
});
const again = (dueAt: number): RefusalDecision => ({ kind: "again", dueAt });
const split = (batchesLeft: number): RefusalDecision => ({ kind: "split", batchesLeft });
const NO_ANSWER = { kind: "fail", code: "no_answer" } as const;
const paused = (reason: PauseReason, dueAt: number): RefusalDecision => ({ kind: "pause", reason, dueAt });

interface Row {
  readonly title: string;
  readonly refusal: Refusal;
  readonly documentCount?: number;
  readonly refusals?: number;
  /** The number of batches that may have been accepted, including this one. */
  readonly batches?: number;
  /** How often the job was halved, for a job whose submits time out while others succeed. */
  readonly halvings?: number;
  readonly random?: number;
  readonly now?: number;
  readonly then: RefusalDecision;
}

const table: readonly Row[] = [
  { title: "waits half a run after the first", refusal: refusal("retry"), random: 0, then: again(NOW + 30_000) },
  { title: "adds a random part", refusal: refusal("retry"), random: 0.5, then: again(NOW + 45_000) },
  { title: "doubles the wait", refusal: refusal("retry"), refusals: 1, random: 0, then: again(NOW + MINUTE) },
  { title: "doubles it again", refusal: refusal("retry"), refusals: 2, random: 0, then: again(NOW + 2 * MINUTE) },
  {
    title: "waits 15 minutes at most",
    refusal: refusal("retry"),
    refusals: 50,
    random: 0,
    then: again(NOW + 15 * MINUTE),
  },
  {
    title: "waits as long as the service requests",
    refusal: refusal("retry", { retryAfterSeconds: 600 }),
    then: again(NOW + 10 * MINUTE),
  },
  {
    title: "waits no less than the backoff if the service requests less",
    refusal: refusal("retry", { retryAfterSeconds: 1 }),
    random: 0,
    then: again(NOW + 30_000),
  },
  {
    title: "still waits at the 99th",
    refusal: refusal("retry"),
    refusals: 98,
    random: 0,
    then: again(NOW + 15 * MINUTE),
  },
  {
    title: "gives up at the 100th consecutive one",
    refusal: refusal("retry"),
    refusals: 99,
    then: { kind: "fail", code: "no_answer" },
  },
  {
    title: "pauses its model until 00:00 UTC",
    refusal: refusal("pause"),
    refusals: 500,
    then: paused("daily_limit", MIDNIGHT),
  },
  {
    title: "pauses it for a whole day at 00:00 UTC",
    refusal: refusal("pause"),
    now: MIDNIGHT,
    then: paused("daily_limit", MIDNIGHT + 24 * 60 * MINUTE),
  },
  {
    title: "pauses its model for 15 minutes, any number of times",
    refusal: refusal("configuration"),
    refusals: 500,
    then: paused("configuration", NOW + 15 * MINUTE),
  },
  { title: "is dispatched again immediately", refusal: refusal("forgotten"), then: again(NOW) },
  { title: "is split while it has two documents", refusal: refusal("shrink"), documentCount: 2, then: split(9) },
  {
    title: "fails as too large alone",
    refusal: refusal("shrink"),
    documentCount: 1,
    then: { kind: "fail", code: "too_large" },
  },
  { title: "is split while it has two documents", refusal: refusal("invalid"), documentCount: 2, then: split(9) },
  {
    title: "fails as invalid alone",
    refusal: refusal("invalid"),
    documentCount: 1,
    then: { kind: "fail", code: "invalid_input" },
  },
  { title: "fails whole", refusal: refusal("permanent"), documentCount: 100, then: { kind: "fail", code: "refused" } },
];

const used: readonly Row[] = [
  {
    title: "waits half a run after the first batch",
    refusal: refusal("retry"),
    batches: 1,
    random: 0,
    then: again(NOW + 30_000),
  },
  {
    title: "waits four times as long after each",
    refusal: refusal("retry"),
    batches: 4,
    random: 0,
    then: again(NOW + 32 * MINUTE),
  },
  {
    title: "waits at most six hours plus a quarter",
    refusal: refusal("retry"),
    batches: 9,
    random: 0.5,
    then: again(NOW + 405 * MINUTE),
  },
  { title: "is given up after the tenth", refusal: refusal("retry"), batches: MAX_BATCHES, then: NO_ANSWER },
  { title: "is halved", refusal: refusal("retry"), batches: 2, halvings: 0, then: { kind: "halve" } },
  { title: "is halved down to an eighth", refusal: refusal("retry"), batches: 4, halvings: 2, then: { kind: "halve" } },
  {
    title: "waits if it is an eighth already",
    refusal: refusal("retry"),
    batches: 4,
    halvings: 3,
    random: 0,
    then: again(NOW + 32 * MINUTE),
  },
  {
    title: "waits alone",
    refusal: refusal("retry"),
    batches: 4,
    halvings: 0,
    documentCount: 1,
    random: 0,
    then: again(NOW + 32 * MINUTE),
  },
  {
    title: "is given up, not halved, after the tenth",
    refusal: refusal("retry"),
    batches: MAX_BATCHES,
    halvings: 0,
    then: NO_ANSWER,
  },
  { title: "is dispatched again after the ninth", refusal: refusal("forgotten"), batches: 9, then: again(NOW) },
  { title: "is given up after the tenth", refusal: refusal("forgotten"), batches: MAX_BATCHES, then: NO_ANSWER },
  { title: "is split within the batches left", refusal: refusal("invalid"), batches: 7, then: split(3) },
  { title: "is split within the batches left", refusal: refusal("shrink"), batches: 9, then: split(1) },
  { title: "is given up after the tenth", refusal: refusal("invalid"), batches: MAX_BATCHES, then: NO_ANSWER },
  {
    title: "fails as invalid alone, even in its tenth",
    refusal: refusal("invalid"),
    batches: MAX_BATCHES,
    documentCount: 1,
    then: { kind: "fail", code: "invalid_input" },
  },
];

describe("a refused job", () => {
  it.each(table.map((row) => ({ ...row, class: row.refusal.class })))("as $class $title", expectDecision);
  it.each(used.map((row) => ({ ...row, class: row.refusal.class })))(
    "as $class, its batch number $batches accepted, $title",
    expectDecision,
  );
});

function expectDecision(row: Row): void {
  const job = {
    documentCount: row.documentCount ?? 100,
    refusals: row.refusals ?? 0,
    accepted: row.batches !== undefined,
    batches: row.batches ?? 1,
    halvings: row.halvings ?? 0,
    timesOutAlone: row.halvings !== undefined,
  };
  const decision = afterRefusal(job, row.refusal, {
    now: row.now ?? NOW,
    runInterval: RUN,
    random: row.random ?? 0.5,
  });
  expect(decision).toEqual(row.then);
}
