#!/usr/bin/env node
import { randomBytes } from "node:crypto";
import { CommanderError } from "commander";
import { SluiceError } from "../index.ts";
import { CommandError, type Cli } from "./cli.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { Output } from "./output.ts";
import { createProgram } from "./program.ts";
import { oneLine } from "./text.ts";

/** Places that are told of a refusal. */
const MOST_PLACES = 10;

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    // The second one means it.
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort(new Error("stopped"));
  });
}
// A reader such as `head` may have had enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(EXIT.ok);
  throw error;
});

const program = createProgram(async (work, output) => {
  const human = output === undefined ? process.stdout.isTTY : output === "table";
  const cli: Cli = {
    out: new Output(process.stdout, process.stderr, human),
    env: process.env,
    signal: stop.signal,
    now: () => Date.now(),
    randomBytes,
  };
  process.exitCode = await end(cli, work);
});

async function end(cli: Cli, work: (cli: Cli) => Promise<ExitCode> | ExitCode): Promise<ExitCode> {
  try {
    return await work(cli);
  } catch (error) {
    if (cli.signal.aborted) return EXIT.interrupted;
    if (error instanceof CommandError) {
      cli.out.note(error.message);
      return error.code;
    }
    if (!(error instanceof SluiceError)) throw error;
    cli.out.note(`${cli.out.noteStyle(error.title, "red")}: ${error.detail}`);
    for (const place of error.errors.slice(0, MOST_PLACES)) {
      cli.out.note(`  ${"line" in place ? `line ${place.line}` : place.pointer}: ${oneLine(place.detail)}`);
    }
    if (error.code === "unauthorized") cli.out.note("SLUICE_API_KEY holds the key that was sent.");
    if (error.requestId !== null) cli.out.note(`request ${error.requestId}`);
    return EXIT.error;
  }
}

program.exitOverride();
for (const command of program.commands) {
  command.exitOverride();
  for (const inner of command.commands) inner.exitOverride();
}
try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}
