import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../src/configuration.ts";
import { playMatrix } from "./play.ts";
import { polled, pushed, telling } from "./points.ts";

playMatrix("the most significant points", telling);

it("has the number of points given in the README", () => {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  expect(readme).toContain(`at ${telling.length} of ${pushed.length + polled.length} points`);
});
