import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { migrateState } from "./migrated-state.ts";
import { expectNoProcess, headed, Shell } from "./shell.ts";

/** Milliseconds. The stack starts in ten seconds on an idle machine. */
const TIMEOUT_MS = 240_000;
const HOSTILE = "\u001B]0;title\u0007\u202Eq\u009B2J";
const DOCUMENTS = 60;

let folder: string;
const shell = new Shell();
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-commands-"));
  const lines = Array.from({ length: DOCUMENTS }, (_, n) =>
    JSON.stringify({ id: `d${n}`, query: `${HOSTILE} ${n}`, contexts: [HOSTILE, `${HOSTILE} text`] }),
  );
  writeFileSync(join(folder, "file.ndjson"), [...lines, JSON.stringify({ query: HOSTILE, [HOSTILE]: 1 })].join("\n"));
});
afterEach(() => {
  shell.kill();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const path = (command: string) => fileURLToPath(import.meta.resolve(`../src/${command}.ts`));

const start = (line: string) =>
  shell.start(line, folder, {
    INIT_CWD: folder,
    SLUICE_STATE: join(folder, "state"),
    SLUICE_PORT: "0",
    SLUICE_LOCAL_AI: "instant",
    SLUICE_TICK_SECONDS: "1",
  });

it.runIf(existsSync("/proc/self"))(
  "demo exits quietly when its reader is gone, and the next run finishes its push",
  { timeout: TIMEOUT_MS },
  async () => {
    const first = start(headed(`"${path("demo")}" file.ndjson`, 3));
    const { code, stdout, stderr } = await first.ended;
    expect({ code, stderr, lines: stdout.trimEnd().split("\n").length }).toEqual({ code: 0, stderr: "", lines: 3 });
    expect(stdout).toContain(`pushed      ${DOCUMENTS} documents`);
    await expectNoProcess(first.child);

    const second = await start(`"$node" --no-warnings "${path("demo")}" file.ndjson`).ended;
    expect(second.stdout).not.toMatch(/stalled|lost|message_lost/);
    expect(second.stdout).toContain("Local scores are text lengths and differ from bge-m3's.");
    // The last line of the file is refused because of an unknown field.
    expect(second.code).toBe(1);
    expect(second.stdout).toContain("line 61: ");
    for (const text of [second.stdout, second.stderr]) expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  },
);

it.runIf(existsSync("/proc/self"))(
  "demo --kill leaves no process of the killed runtime",
  { timeout: TIMEOUT_MS },
  async () => {
    migrateState(join(folder, "state"));
    const demo = start(`exec "$node" --no-warnings "${path("demo")}" --kill`);
    const { code, stdout } = await demo.ended;
    expect(stdout).toContain("killed");
    await expectNoProcess(demo.child);
    expect(code).toBe(0);
  },
);

it.runIf(existsSync("/proc/self"))(
  "dev names the stand-in, and on Ctrl-C reports where the data is kept",
  { timeout: TIMEOUT_MS },
  async () => {
    migrateState(join(folder, "state"));
    const dev = start(`exec "$node" --no-warnings "${path("dev")}"`);
    while (!dev.output.stdout.includes("Ctrl-C stops it")) await once(dev.child.stdout, "data");
    expect(dev.output.stdout).toContain("Local scores are text lengths and differ from bge-m3's.");
    const [, url = ""] = /runs on (\S+)/.exec(dev.output.stdout) ?? [];
    const [, key = ""] = /key {3}(\S+)/.exec(dev.output.stdout) ?? [];
    const stats = await fetch(`${url}/v1/stats`, { headers: { authorization: `Bearer ${key}` } });
    expect(await stats.json()).toMatchObject({ scorer: "instant" });
    process.kill(-Number(dev.child.pid), "SIGINT");
    const { code, stdout } = await dev.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/Stopping …\nStopped\. The data is kept in .*state\.\n/);
    await expectNoProcess(dev.child);
  },
);

it.runIf(existsSync("/proc/self"))(
  "dev exits quietly when its reader is gone and leaves no process",
  { timeout: TIMEOUT_MS },
  async () => {
    // The reader leaves at once: after its last line, dev writes nothing that could detect the loss.
    migrateState(join(folder, "state"));
    const dev = start(headed(`"${path("dev")}"`, 1));
    const { code, stdout, stderr } = await dev.ended;
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "Starting Sluice …\n", stderr: "" });
    await expectNoProcess(dev.child);
  },
);

it("escapes control characters in a file name", { timeout: TIMEOUT_MS }, async () => {
  const name = `'${HOSTILE}.ndjson'`;
  const { code, stderr } = await start(`"$node" --no-warnings "${path("demo")}" ${name}`).ended;
  expect(code).toBe(1);
  expect(stderr).toContain("cannot be read: no such file");
  expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
});
