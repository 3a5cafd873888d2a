import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Together } from "../../local/test/together/stack.ts";

/** Milliseconds. The stack starts in a few seconds on an idle machine. */
const TIMEOUT_MS = 120_000;
const SMOKE = fileURLToPath(import.meta.resolve("../src/smoke.ts"));

let stack: Together;
beforeAll(async () => {
  stack = await Together.start();
}, TIMEOUT_MS);
afterAll(async () => stack.stop(), TIMEOUT_MS);

/** Runs the command against the stack, whose poller has never run before and runs until the command ends. */
async function smoke(key: string): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ["--no-warnings", SMOKE, "--url", stack.url, "--key", key], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const closed = once(child, "close");
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  // The command reads the last run first, and pushes when it has read it.
  while (isRunning() && !output.includes("pushed")) {
    await Promise.race([once(child.stdout, "data"), closed]);
  }
  while (isRunning()) await stack.poll();
  const [code] = (await closed) as [number];
  return { code, output };
}

it("smoke passes against the four Workers, and fails with a wrong key", { timeout: TIMEOUT_MS }, async () => {
  const passed = await smoke(stack.key);
  expect(passed).toMatchObject({ code: 0, output: expect.stringContaining("Everything works.") });
  expect(passed.output).toContain("12 documents have the right scores in the right order (lexical)");
  expect(await smoke("wrong")).toMatchObject({ code: 1, output: expect.stringContaining("not accepted") });
});
