import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readNew, showErrors } from "../src/log.ts";

it("reads only what is appended to a log", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-log-"));
  const path = join(folder, "sluice.log");
  const fromEmpty = readNew(path);
  expect(fromEmpty()).toBe("");
  writeFileSync(path, "old\n");
  const fromHere = readNew(path);
  appendFileSync(path, "new\n");
  expect(fromHere()).toBe("new\n");
  expect(fromEmpty()).toBe("old\nnew\n");
  rmSync(folder, { recursive: true });
});

it("shows a build error without colors, from the first error on", () => {
  const escape = "\u001B";
  const output = `⎔ Starting\n${escape}[31m✘ ${escape}[41;31m[${escape}[41;97mERROR${escape}[41;31m]${escape}[0m Build failed\n\n  index.ts:1:1\n`;
  expect(showErrors(output)).toBe("✘ [ERROR] Build failed\n  index.ts:1:1");
  expect(showErrors("[wrangler:info] Ready\n")).toBe("");
});
