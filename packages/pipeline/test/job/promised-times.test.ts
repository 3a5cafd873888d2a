import { expect, it } from "vitest";
import { CONFIGURATION_PAUSE_MS, nextMidnight, STUCK_AFTER_MINUTES } from "../../src/job/schedule.ts";
import {
  ABANDONED_AFTER_MS,
  IDEMPOTENCY_KEY_LIFE_MS,
  MESSAGE_LIFE_MS,
  PUSH_ALIVE_MS,
  STALLED_AFTER_MS,
} from "../../src/submission/lifetimes.ts";

/*
 * Times that are promised to clients and operators, as literal numbers. All other code uses the constants and would not
 * notice a wrong number.
 */
it.each([
  ["a message lives at most 4 days in its queue, 4 in the dead-letter queue, and half a day", MESSAGE_LIFE_MS, 734_400],
  ["a submission short of recorded documents is stalled after 10 minutes", STALLED_AFTER_MS, 600],
  ["an interrupted push is closed as incomplete after an hour", ABANDONED_AFTER_MS, 3_600],
  ["a push counts as running for 60 s after its last activity", PUSH_ALIVE_MS, 60],
  ["an Idempotency-Key is stored for 24 hours", IDEMPOTENCY_KEY_LIFE_MS, 86_400],
  ["a fault of the account or a model is retried after 15 minutes", CONFIGURATION_PAUSE_MS, 900],
  ["a batch without an answer is dispatched again after an hour", STUCK_AFTER_MINUTES * 60_000, 3_600],
])("%s", (_, milliseconds, seconds) => {
  expect(milliseconds / 1_000).toBe(seconds);
});

it.each([
  ["2026-11-29T00:00:00.000Z", "2026-11-30T00:00:00.000Z"],
  ["2026-11-29T23:59:59.999Z", "2026-11-30T00:00:00.000Z"],
  ["2026-12-31T12:00:00.000Z", "2027-01-01T00:00:00.000Z"],
  ["2028-02-28T15:30:00.000Z", "2028-02-29T00:00:00.000Z"],
])("neurons used up at %s are renewed at %s, by UTC", (now, midnight) => {
  expect(new Date(nextMidnight(Date.parse(now))).toISOString()).toBe(midnight);
});
