import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../src/configuration.ts";
import { playMatrix } from "./play.ts";
import { polled, pushed } from "./points.ts";

// Two stacks beside each other: each waits for the start of its runtime most of the time.
playMatrix("a push, up to its request_id", pushed);
playMatrix("a job, up to its scores", polled);

it("has as many points as README says", () => {
  expect(readFileSync(join(ROOT, "README.md"), "utf8")).toContain(`at ${pushed.length + polled.length} points`);
});
