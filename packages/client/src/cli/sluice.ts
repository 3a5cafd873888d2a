#!/usr/bin/env node
import { randomBytes } from "node:crypto";
import { CommanderError } from "commander";
import { SluiceError } from "../index.ts";
import { CommandError, type Cli } from "./cli.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { Output } from "./output.ts";
import { createProgram } from "./program.ts";
import { whenReaderLeaves } from "./reader.ts";
import { tellError } from "./tell-error.ts";

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    // The second one means it.
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort(new Error("stopped"));
  });
}
whenReaderLeaves([process.stdout, process.stderr], () => process.exit(EXIT.ok));

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
    // What breaks off with a Ctrl-C is no error of its own.
    const stopped = cli.signal.aborted;
    if (error instanceof CommandError && (!stopped || error.code === EXIT.interrupted)) {
      cli.out.note(error.message);
      return error.code;
    }
    if (stopped) return EXIT.interrupted;
    if (!(error instanceof SluiceError)) throw error;
    tellError(cli.out, error);
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
