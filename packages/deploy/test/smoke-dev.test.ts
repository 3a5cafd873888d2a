import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";

/** Milliseconds. The stack starts in ten seconds on an idle machine. */
const TIMEOUT_MS = 240_000;

let folder: string;
let dev: ChildProcess | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-smoke-"));
});
afterEach(async () => {
  if (dev !== null && dev.exitCode === null) {
    dev.kill("SIGINT");
    await once(dev, "close");
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}, TIMEOUT_MS);

const path = (file: string) => fileURLToPath(import.meta.resolve(file));

/** Starts `dev`. Returns its URL and key, as it prints them. */
async function startDev(): Promise<{ url: string; key: string }> {
  const child = spawn(process.execPath, ["--no-warnings", path("../../local/src/dev.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      SLUICE_STATE: join(folder, "state"),
      SLUICE_PORT: "0",
      SLUICE_LOCAL_AI: "lexical",
      SLUICE_TICK_SECONDS: "1",
    },
  });
  dev = child;
  let printed = "";
  child.stdout.setEncoding("utf8");
  for await (const text of child.stdout.iterator({ destroyOnReturn: false })) {
    printed += String(text);
    const [, url] = /Sluice runs on (\S+)/.exec(printed) ?? [];
    const [, key] = /^ {2}key {3}(\S+)\n/m.exec(printed) ?? [];
    if (url !== undefined && key !== undefined) {
      child.stdout.resume();
      return { url, key };
    }
  }
  throw new Error(`dev ended: ${printed}`);
}

it("smoke passes against dev, and fails with a wrong key", { timeout: TIMEOUT_MS }, async () => {
  const { url, key } = await startDev();
  const smoke = async (...args: readonly string[]) => {
    const child = spawn(process.execPath, ["--no-warnings", path("../src/smoke.ts"), "--url", url, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    const [code] = (await once(child, "close")) as [number];
    return { code, output };
  };
  const passed = await smoke("--key", key);
  expect(passed).toMatchObject({ code: 0, output: expect.stringContaining("Everything works.") });
  expect(passed.output).toContain("12 documents have the right scores in the right order (lexical)");
  expect(await smoke("--key", "wrong")).toMatchObject({ code: 1, output: expect.stringContaining("not accepted") });
});
