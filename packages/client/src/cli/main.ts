import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { CommanderError } from "commander";
import { SluiceError } from "../index.ts";
import { CommandError, type Cli } from "./cli.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { Output, type Sink } from "./output.ts";
import { createProgram } from "./program.ts";
import { reportError } from "./report-error.ts";

/** What the command uses of its process. */
export interface Surroundings {
  readonly stdin: Readable;
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  readonly sleep: Cli["sleep"];
}

/** Runs the command with its arguments and returns its exit code. Throws only on bugs. */
export async function main(
  args: readonly string[],
  { stdin, stdout, stderr, env, signal, sleep }: Surroundings,
): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const program = createProgram(
    async (work, output) => {
      const human = output === undefined ? stdout.isTTY === true : output === "table";
      const out = new Output(stdout, stderr, human);
      code = await end({ out, stdin, env, signal, sleep, now: () => Date.now(), randomBytes }, work);
    },
    { stdout, stderr },
  );
  program.exitOverride();
  for (const command of program.commands) {
    command.exitOverride();
    for (const inner of command.commands) inner.exitOverride();
  }
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  return code;
}

async function end(cli: Cli, work: (cli: Cli) => Promise<ExitCode> | ExitCode): Promise<ExitCode> {
  try {
    return await work(cli);
  } catch (error) {
    // An error caused by Ctrl-C is not reported.
    const stopped = cli.signal.aborted;
    if (error instanceof CommandError && (!stopped || error.code === EXIT.interrupted)) {
      cli.out.note(error.message);
      return error.code;
    }
    if (stopped) return EXIT.interrupted;
    if (!(error instanceof SluiceError)) throw error;
    reportError(cli.out, error);
    return EXIT.error;
  }
}
