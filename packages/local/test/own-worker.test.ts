import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sluice } from "@sluice/client/library";
import { parse } from "jsonc-parser";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { STOP } from "../src/child-events.ts";
import { ROOT } from "../src/configuration.ts";
import { ownWorker } from "../src/own-worker.ts";
import { startStack, type Stack } from "../src/runtime.ts";
import { WRANGLER } from "../src/wrangler.ts";
import { migrateState } from "./migrated-state.ts";

const EXAMPLE = join(ROOT, "packages/client/examples/own-worker");
const KEY = "own-worker-key-0123456789";
const LIMIT_MS = 300_000;
const DOCUMENT = {
  id: "egg",
  query: "how long to boil an egg",
  contexts: ["Hens lay eggs.", { id: "six", text: "Boil an egg for six minutes." }],
};

/** Wrangler in a folder outside the workspace, run as `dev` prints it, on a free port. */
async function runOwn(command: string, folder: string): Promise<{ url: string; stop: () => Promise<void> }> {
  const [assignment = "", npx, wrangler, ...args] = command.split(" ");
  expect([npx, wrangler]).toEqual(["npx", "wrangler"]);
  const [name = "", value] = assignment.split("=");
  const log = openSync(join(folder, "log"), "a");
  const endWithParent = import.meta.resolve("../src/end-with-parent.ts");
  const child = spawn(
    process.execPath,
    ["--no-warnings", "--import", endWithParent, WRANGLER, ...args.slice(0, -1), "0", "--inspector-port", "0"],
    {
      cwd: folder,
      stdio: ["ignore", log, log, "ipc"],
      env: { ...process.env, [name]: value, CI: "1", WRANGLER_SEND_METRICS: "false", WRANGLER_WRITE_LOGS: "false" },
    },
  );
  const ended = once(child, "exit");
  const port = await new Promise<number>((resolve, reject) => {
    child.on("message", (message) => {
      if (typeof message !== "string") return;
      const event = JSON.parse(message) as { event?: string; port?: number };
      if (event.event === "DEV_SERVER_READY" && event.port !== undefined) resolve(event.port);
    });
    void ended.then(() => reject(new Error(readFileSync(join(folder, "log"), "utf8"))));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.send(STOP);
      await ended;
    },
  };
}

describe("a Worker outside the workspace, beside a running stack", () => {
  let root: string;
  let stack: Stack | null = null;
  let own: Awaited<ReturnType<typeof runOwn>> | null = null;
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "sluice-own-"));
    const settings = {
      port: 0,
      state: join(root, "state"),
      tickSeconds: 1,
      localAi: "lexical",
      events: false,
      retention: {},
      apiKey: null,
      maxDatabaseBytes: null,
    } as const;
    migrateState(settings.state);
    const started = await startStack(settings, KEY, new AbortController().signal);
    if (!started.ok) throw new Error(started.error);
    stack = started.value;

    const folder = join(root, "worker");
    mkdirSync(folder);
    copyFileSync(join(EXAMPLE, "index.ts"), join(folder, "index.ts"));
    const { bindings, run } = ownWorker(settings);
    const rest = '"name": "own-worker", "main": "index.ts", "compatibility_date": "2026-08-15"';
    writeFileSync(join(folder, "wrangler.jsonc"), `{ ${bindings.join("\n")}\n${rest} }`);
    // The example contains the printed bindings.
    const example = parse(readFileSync(join(EXAMPLE, "wrangler.jsonc"), "utf8")) as unknown;
    expect(example).toEqual(parse(readFileSync(join(folder, "wrangler.jsonc"), "utf8")));
    own = await runOwn(run, folder);
  }, LIMIT_MS);
  afterAll(async () => {
    await own?.stop();
    await stack?.stop();
    rmSync(root, { recursive: true, force: true });
  }, LIMIT_MS);

  it(
    "pushes over RPC and reads scores from the same D1, as printed by dev",
    async () => {
      const pushed = await fetch(own?.url ?? "", { method: "POST", body: JSON.stringify(DOCUMENT) });
      const { submission } = (await pushed.json()) as { submission: string };
      await new Sluice({ url: stack?.url ?? "", key: KEY }).wait(submission);
      const ranking = await fetch(`${own?.url}/egg`);
      expect(await ranking.json()).toMatchObject([
        { rank: 1, context_id: "six" },
        { rank: 2, context_id: "0" },
      ]);
    },
    LIMIT_MS,
  );

  it(
    "keeps its binding when the stack restarts",
    async () => {
      expect(await stack?.restartAfterKill()).toMatchObject({ ok: true });
      // Wrangler notices the new Workers shortly after they serve.
      await vi.waitFor(
        async () => {
          const pushed = await fetch(own?.url ?? "", { method: "POST", body: JSON.stringify(DOCUMENT) });
          expect(pushed.status).toBe(200);
        },
        { timeout: 20_000, interval: 250 },
      );
    },
    LIMIT_MS,
  );
});
