import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { expectNoProcess, headed, Shell } from "../../local/test/shell.ts";

const MAIN = fileURLToPath(import.meta.resolve("../src/main.ts"));
const shell = new Shell();
afterEach(() => shell.kill());

it.runIf(existsSync("/proc/self"))(
  "a simulation of many seeds exits cleanly with its reader and leaves no process",
  { timeout: 120_000 },
  async () => {
    const run = shell.start(headed(`"${MAIN}" --seeds 1000000`, 1), process.cwd());
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stderr, lines: stdout.trimEnd().split("\n").length }).toEqual({ code: 0, stderr: "", lines: 1 });
    await expectNoProcess(run.child);
  },
);
