import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const TSC = fileURLToPath(new URL("bin/tsc", import.meta.resolve("typescript/package.json")));
const PROJECT = fileURLToPath(import.meta.resolve("../workers/tsconfig.json"));

test("the client compiles for Workers, and its types match the producer's", () => {
  const { status, stdout } = spawnSync(process.execPath, [TSC, "-p", PROJECT, "--pretty", "false"], {
    encoding: "utf8",
  });
  expect(stdout).toBe("");
  expect(status).toBe(0);
});
