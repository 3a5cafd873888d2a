import { expect, test } from "vitest";
import { holdWords, waitingWords, type Waiter } from "../../src/cli/words.ts";
import type { Waiting, WaitingReason } from "../../src/types.ts";
import { submissionOf } from "../shapes.ts";

const waiter: Waiter = { model: "@cf/m", submission: "sub_1" };
const words = (reason: WaitingReason, more: Partial<Waiting> = {}, of = waiter) =>
  waitingWords({ reason, until: null, ...more }, of, 0);

test.each([
  ["paused", /everything; to go on: sluice resume$/],
  ["paused_model", /its model; to go on: sluice resume --model @cf\/m$/],
  ["paused_submission", /its submission; to go on: sluice resume --submission sub_1$/],
  ["configuration", /then: sluice resume --model @cf\/m$/],
] as const)("what waits as %s is told the command that ends it", (reason, told) => {
  expect(words(reason)).toMatch(told);
});

test("what waits of a job, which is several submissions', leaves the name to the reader", () => {
  expect(words("paused_submission", {}, { ...waiter, submission: null })).toContain("--submission SUBMISSION");
});

test("when it is looked at next is told where it is known, and an unknown reason as it is", () => {
  expect(words("answer", { until: "1970-01-01T00:00:09.000Z" })).toMatch(/; next look in 9\.0 s$/);
  expect(words("moonrise" as WaitingReason)).toBe("moonrise");
});

test("a push's bar says what holds it back, and how to go on", () => {
  const submission = submissionOf("sub_1", [], new URLSearchParams());
  const hold = (reason: WaitingReason) => holdWords({ ...submission, waiting: { reason, until: null } });
  expect(hold("paused")).toBe("everything is paused: sluice resume");
  expect(hold("paused_model")).toBe(`the model is paused: sluice resume --model ${submission.model}`);
  expect(hold("paused_submission")).toBe("it is paused: sluice resume --submission sub_1");
  expect(hold("answer")).toBeNull();
  expect(holdWords({ ...submission, waiting: null })).toBeNull();
});
