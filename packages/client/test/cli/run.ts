import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { test as base } from "vitest";
import { main } from "../../src/cli/main.ts";
import type { Io } from "../../src/io.ts";
import { FakeApi, KEY, type Received } from "../fake-api.ts";
import { serve } from "../serve.ts";
import { documents } from "../shared/client.ts";

const COMMAND = fileURLToPath(import.meta.resolve("../../src/cli/sluice.ts"));

/** A compile cache makes a process start three times as fast. */
const COMPILE_CACHE = join(tmpdir(), "sluice-test-compile-cache");

interface Heard {
  readonly signal?: AbortSignal;
  readonly onNote?: (text: string) => void;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The command in a temporary folder, which becomes the working directory, with its own fake API. `run` calls it in this
 * process; `spawn`, `start` and `shell` create a process for tests that need one.
 */
export class Bench {
  readonly api = new FakeApi();
  readonly folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  readonly #server: Server = createServer(serve(this.api.fetch));
  readonly #children: ChildProcess[] = [];
  readonly #from = process.cwd();
  env: Record<string, string | undefined> = {};
  /** How `run` waits: not at all by default. */
  sleep: Io["sleep"] = async (_, signal) => signal?.throwIfAborted();
  /** The command line of a process: Node and the command's file. */
  program: readonly [node: string, command: string] = [process.execPath, COMMAND];

  static async start(): Promise<Bench> {
    const bench = new Bench();
    bench.api.looks = 0;
    process.chdir(bench.folder);
    await new Promise<void>((resolve) => bench.#server.listen(0, "127.0.0.1", resolve));
    const { port } = bench.#server.address() as AddressInfo;
    bench.env = {
      ...process.env,
      SLUICE_URL: `http://127.0.0.1:${port}`,
      SLUICE_API_KEY: KEY,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
    };
    return bench;
  }

  async stop(): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await this.close();
    process.chdir(this.#from);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Stops the API. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Releases the port and breaks its connections. */
  pauseListening(): Promise<void> {
    return this.close();
  }

  /** Listens on the same port again. */
  async listenAgain(): Promise<void> {
    const { port } = new URL(this.env["SLUICE_URL"] ?? "");
    await new Promise<void>((resolve) => this.#server.listen(Number(port), "127.0.0.1", resolve));
  }

  write(name: string, lines: readonly unknown[]): void {
    const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
    writeFileSync(join(this.folder, name), texts.map((text) => `${text}\n`).join(""));
  }

  /** Reads a file in the folder. */
  read(name: string): string {
    return readFileSync(join(this.folder, name), "utf8");
  }

  /** The requests so far, as `GET /v1/jobs?limit=20`. */
  paths(): string[] {
    return this.api.received.map(({ method, url }) => `${method} ${url.pathname}${url.search}`);
  }

  /** The pushes so far. */
  pushes(): Received[] {
    return this.api.received.filter(({ method }) => method === "POST");
  }

  /** If `stdin` is `null`, it stays open. */
  start(
    args: readonly string[],
    stdin: string | Uint8Array | null = "",
  ): { child: ChildProcessWithoutNullStreams; ended: Promise<Ended> } {
    const [node, command] = this.program;
    return this.#follow(spawn(node, [command, ...args], { cwd: this.folder, env: this.env }), stdin);
  }

  /** Runs a line of bash with `sluice` as the command. */
  shell(line: string): Promise<Ended> {
    const env = { ...this.env, NODE: process.execPath, COMMAND };
    const script = `sluice() { "$NODE" "$COMMAND" "$@"; }; ${line}`;
    return this.#follow(spawn("bash", ["-c", script], { cwd: this.folder, env }), "").ended;
  }

  #follow(
    child: ChildProcessWithoutNullStreams,
    stdin: string | Uint8Array | null,
  ): { child: ChildProcessWithoutNullStreams; ended: Promise<Ended> } {
    this.#children.push(child);
    const output = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
    if (stdin !== null) child.stdin.end(stdin);
    const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, ...output })));
    return { child, ended };
  }

  /** Runs the command as a process. */
  spawn(args: readonly string[], stdin: string | Uint8Array = ""): Promise<Ended> {
    return this.start(args, stdin).ended;
  }

  /**
   * Runs the command in this process, with its output as in a pipe. `signal` aborts as Ctrl-C would; `onNote` receives
   * stderr.
   */
  async run(
    args: readonly string[],
    stdin: string | Uint8Array = "",
    { signal = new AbortController().signal, onNote = () => {} }: Heard = {},
  ): Promise<Ended> {
    const output = { stdout: "", stderr: "" };
    const code = await main(args, {
      stdin: Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]),
      stdout: { write: (text) => ((output.stdout += text), true) },
      stderr: { write: (text) => ((output.stderr += text), onNote(text), true) },
      env: this.env,
      signal,
      sleep: (milliseconds, over) => this.sleep(milliseconds, over),
    });
    return { code, ...output };
  }
}

export function records(text: string): unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}

/** Prints tables, as on a terminal. */
export const TABLE = ["-o", "table"] as const;

/** Replaces words that vary from run to run. */
export function steady(text: string): string {
  return text.replaceAll(/\d+ (min|h|d|s) ago/g, "N ago").replaceAll(/ +/g, " ");
}

/** Tests with their own command, folder and API. */
export const test = base.extend<{ bench: Bench }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest needs an object pattern here
  bench: async ({}, use) => {
    const bench = await Bench.start();
    await use(bench);
    await bench.stop();
  },
});

/** The same after a push of three documents, of which `d3` fails. */
export const testPushed = test.extend<{ bench: Bench }>({
  bench: async ({ bench }, use) => {
    bench.write("docs.ndjson", [...documents(2), { id: "d3", query: "fail", contexts: ["a"] }]);
    await bench.run(["push", "docs.ndjson", "--label", "nightly"]);
    bench.api.received.length = 0;
    await use(bench);
  },
});
