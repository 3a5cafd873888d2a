import { describe, expect, it } from "vitest";
import type { PauseReason } from "@sluice/core";
import type { FailureClass, Refusal } from "@sluice/inference";
import { MAX_REPEATS, afterRefusal, type RefusalDecision } from "../src/index.ts";

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
const paused = (reason: PauseReason, dueAt: number): RefusalDecision => ({ kind: "pause", reason, dueAt });

interface Row {
  readonly title: string;
  readonly refusal: Refusal;
  readonly documents?: number;
  readonly refusals?: number;
  readonly random?: number;
  readonly now?: number;
  readonly then: RefusalDecision;
}

const table: readonly Row[] = [
  { title: "waits half a run after the first", refusal: refusal("retry"), random: 0, then: again(NOW + 30_000) },
  { title: "spreads by chance", refusal: refusal("retry"), random: 0.5, then: again(NOW + 45_000) },
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
    title: "waits as long as the service says",
    refusal: refusal("retry", { retryAfterSeconds: 600 }),
    then: again(NOW + 10 * MINUTE),
  },
  {
    title: "waits no shorter because the service says so",
    refusal: refusal("retry", { retryAfterSeconds: 1 }),
    random: 0,
    then: again(NOW + 30_000),
  },
  {
    title: "goes on until the 99th",
    refusal: refusal("retry"),
    refusals: 98,
    random: 0,
    then: again(NOW + 15 * MINUTE),
  },
  {
    title: "gives up at the 100th in a row",
    refusal: refusal("retry"),
    refusals: 99,
    then: { kind: "fail", code: "no_answer" },
  },
  {
    title: "stops its model until 00:00 UTC",
    refusal: refusal("pause"),
    refusals: 500,
    then: paused("daily_limit", MIDNIGHT),
  },
  {
    title: "stops it for a whole day at 00:00 UTC",
    refusal: refusal("pause"),
    now: MIDNIGHT,
    then: paused("daily_limit", MIDNIGHT + 24 * 60 * MINUTE),
  },
  {
    title: "stops its model for 15 minutes, without end",
    refusal: refusal("configuration"),
    refusals: 500,
    then: paused("configuration", NOW + 15 * MINUTE),
  },
  { title: "is dispatched again at once", refusal: refusal("forgotten"), then: again(NOW) },
  { title: "is split while it has two documents", refusal: refusal("shrink"), documents: 2, then: { kind: "split" } },
  {
    title: "fails as too large alone",
    refusal: refusal("shrink"),
    documents: 1,
    then: { kind: "fail", code: "too_large" },
  },
  { title: "is split while it has two documents", refusal: refusal("invalid"), documents: 2, then: { kind: "split" } },
  {
    title: "fails as invalid alone",
    refusal: refusal("invalid"),
    documents: 1,
    then: { kind: "fail", code: "invalid_input" },
  },
  { title: "fails whole", refusal: refusal("permanent"), documents: 100, then: { kind: "fail", code: "refused" } },
];

describe("a job that is refused", () => {
  it.each(table.map((row) => ({ ...row, class: row.refusal.class })))("as $class $title", (row) => {
    const job = { documents: row.documents ?? 100, refusals: row.refusals ?? 0, taken: false, repeats: 0 };
    const decision = afterRefusal(job, row.refusal, {
      now: row.now ?? NOW,
      runInterval: RUN,
      random: row.random ?? 0.5,
    });
    expect(decision).toEqual(row.then);
  });

  it.each(["retry", "forgotten"] as const)(
    "as %s is given up once ten of its batches were taken in for nothing",
    (kind) => {
      const time = { now: NOW, runInterval: RUN, random: 0 };
      const after = (taken: boolean, repeats: number) =>
        afterRefusal({ documents: 100, refusals: 0, taken, repeats }, refusal(kind), time);
      expect(after(true, MAX_REPEATS - 2)).toMatchObject({ kind: "again" });
      expect(after(true, MAX_REPEATS - 1)).toEqual({ kind: "fail", code: "no_answer" });
      expect(after(false, MAX_REPEATS)).toMatchObject({ kind: "again" });
    },
  );
});
