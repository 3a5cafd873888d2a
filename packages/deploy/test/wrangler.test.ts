import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { deployEnvironment } from "../src/deploy-environment.ts";
import { wranglerCommand } from "../src/wrangler.ts";
import { emptyAccount, readAccountFile, writeAccountFile } from "./fake/account.ts";
import { Harness } from "./harness.ts";

const FAKE = fileURLToPath(import.meta.resolve("./fake/wrangler.ts"));
const options = { environment: "production", dryRun: false, yes: true };

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-fake-"));
  file = join(folder, "account.json");
  vi.stubEnv("FAKE_ACCOUNT", file);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

it("deploys through child processes, after one that failed", { timeout: 60_000 }, async () => {
  const expected = new Harness();
  await deployEnvironment(options, expected.io);
  const deploys = expected.account.calls.findIndex(([command]) => command === "deploy");
  writeAccountFile(file, emptyAccount({ failAt: { call: deploys, when: "after" } }));
  const real = new Harness();
  const io = { ...real.io, wrangler: wranglerCommand(FAKE) };

  const first = await deployEnvironment(options, io);
  expect(first).toMatchObject({ ok: false, error: expect.stringContaining("✘ [ERROR] fetch failed") });
  writeAccountFile(file, { ...readAccountFile(file), failAt: null });
  expect(await deployEnvironment(options, io)).toEqual({ ok: true, value: null });

  const { calls: _, failAt: _failAt, ...state } = readAccountFile(file);
  expect(state).toEqual(expected.state);
  expect(real.output).toContain("https://sluice-producer.acme.workers.dev");
  expected.remove();
  real.remove();
});

it("takes the code of a failure from wrangler's report, and its words without colors", async () => {
  writeAccountFile(file, emptyAccount({ queues: { q: { retention: 60, consumer: null, deadLetters: null } } }));
  const run = await wranglerCommand(FAKE)(["queues", "create", "q", "--message-retention-period-secs", "60"]);
  expect(run).toMatchObject({ ok: false, error: { code: 11_009 } });
  expect(run.ok ? "" : run.error.text).toMatch(/^✘ \[ERROR\] A request to the Cloudflare API/);
});

it("runs the workspace's own wrangler", { timeout: 60_000 }, async () => {
  const run = await wranglerCommand()(["--version"]);
  expect(run).toMatchObject({ ok: true, value: { text: expect.stringContaining("4.164.0") } });
});
