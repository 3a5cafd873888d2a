import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FakeApi, KEY } from "../fake-api.ts";
import { serve } from "../serve.ts";

const COMMAND = fileURLToPath(import.meta.resolve("../../src/cli/sluice.ts"));

/** A process that finds its modules compiled starts three times as fast. */
const COMPILE_CACHE = join(tmpdir(), "sluice-test-compile-cache");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command in a folder of its own, with an API of its own. */
export class Bench {
  readonly api = new FakeApi();
  readonly folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  readonly #server: Server = createServer(serve(this.api.fetch));
  readonly #children: ChildProcess[] = [];
  env: Record<string, string | undefined> = {};
  /** What runs: Node, and the command's file. */
  program: readonly [node: string, command: string] = [process.execPath, COMMAND];

  static async start(): Promise<Bench> {
    const bench = new Bench();
    bench.api.looks = 0;
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
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Ends the API. */
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Lets go of the port, and breaks what is connected to it. */
  pauseListening(): Promise<void> {
    return this.close();
  }

  /** Takes the port again that it had. */
  async listenAgain(): Promise<void> {
    const { port } = new URL(this.env["SLUICE_URL"] ?? "");
    await new Promise<void>((resolve) => this.#server.listen(Number(port), "127.0.0.1", resolve));
  }

  write(name: string, lines: readonly unknown[]): void {
    const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
    writeFileSync(join(this.folder, name), texts.map((text) => `${text}\n`).join(""));
  }

  /** `stdin` `null`: it stays open. */
  start(
    args: readonly string[],
    stdin: string | Uint8Array | null = "",
  ): { child: ChildProcess; ended: Promise<Ended> } {
    const [node, command] = this.program;
    return this.#follow(spawn(node, [command, ...args], { cwd: this.folder, env: this.env }), stdin);
  }

  /** Runs a line of bash, in which `sluice` is the command. */
  shell(line: string): Promise<Ended> {
    const env = { ...this.env, NODE: process.execPath, COMMAND };
    const script = `sluice() { "$NODE" "$COMMAND" "$@"; }; ${line}`;
    return this.#follow(spawn("bash", ["-c", script], { cwd: this.folder, env }), "").ended;
  }

  #follow(
    child: ChildProcessWithoutNullStreams,
    stdin: string | Uint8Array | null,
  ): { child: ChildProcess; ended: Promise<Ended> } {
    this.#children.push(child);
    const told = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (told.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (told.stderr += text));
    if (stdin !== null) child.stdin.end(stdin);
    const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, ...told })));
    return { child, ended };
  }

  run(args: readonly string[], stdin: string | Uint8Array = ""): Promise<Ended> {
    return this.start(args, stdin).ended;
  }
}

export function records(text: string): unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
}
