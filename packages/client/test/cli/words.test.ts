import { expect, test } from "vitest";
import { holdWords, waitingWords, type Waiter } from "../../src/cli/words.ts";
import type { Waiting, WaitingReason } from "../../src/types.ts";
import { submissionOf } from "../shapes.ts";

const waiter: Waiter = { model: "@cf/m", submission: "sub_1" };
const words = (reason: WaitingReason, more: Partial<Waiting> = {}, of = waiter) =>
  waitingWords({ reason, until: null, ...more }, of, 0);

test.each([
  ["paused", /all dispatching is paused; to resume: sluice resume$/],
  ["paused_model", /its model is paused; to resume: sluice resume --model @cf\/m$/],
  ["paused_submission", /its submission is paused; to resume: sluice resume --submission sub_1$/],
  ["configuration", /then run: sluice resume --model @cf\/m$/],
] as const)("names the command that ends the wait %s", (reason, pattern) => {
  expect(words(reason)).toMatch(pattern);
});

test("uses a placeholder for the submission of a shared job", () => {
  expect(words("paused_submission", {}, { ...waiter, submission: null })).toContain("--submission SUBMISSION");
});

test("shows the time of the next check, and unknown reasons unchanged", () => {
  expect(words("answer", { until: "1970-01-01T00:00:09.000Z" })).toMatch(/; next check in 9\.0 s$/);
  expect(words("moonrise" as WaitingReason)).toBe("moonrise");
});

test("says what blocks a push, and how to resume", () => {
  const submission = submissionOf("sub_1", [], new URLSearchParams());
  const hold = (reason: WaitingReason) => holdWords({ ...submission, waiting: { reason, until: null } });
  expect(hold("paused")).toBe("everything is paused: sluice resume");
  expect(hold("paused_model")).toBe(`the model is paused: sluice resume --model ${submission.model}`);
  expect(hold("paused_submission")).toBe("it is paused: sluice resume --submission sub_1");
  expect(hold("answer")).toBeNull();
  expect(holdWords({ ...submission, waiting: null })).toBeNull();
});
