import { expect, test } from "vitest";
import { pollerTrouble } from "../../src/cli/poller-trouble.ts";
import { statsOf } from "../shapes.ts";

const NOW = Date.UTC(2026, 8, 21);
const AT = new Date(NOW).toISOString();
const database = { bytes: 960, limit_bytes: 1_000, since: AT };

test("a full database explains why documents wait, and a fuller one that is not full does not", () => {
  const stats = { ...statsOf([], "lexical"), poller: { last_run_at: AT } };
  expect(pollerTrouble(stats, NOW)).toBeNull();
  expect(pollerTrouble({ ...stats, database: { ...database, level: "pressure" } }, NOW)).toBeNull();
  expect(pollerTrouble({ ...stats, database: { ...database, level: "full" } }, NOW)).toBe(
    "The database is full (96 % of its limit). Queued documents wait and new pushes are refused until it is below 90 %.",
  );
});

test("a poller that does not run comes first", () => {
  const stats = { ...statsOf([], "lexical"), poller: null, database: { ...database, level: "full" } } as const;
  expect(pollerTrouble(stats, NOW)).toContain("never run");
});
