import { hasEnded, SluiceError, SluicePushError, type PushResult, type Sluice, type Submission } from "../../index.ts";
import { mayPass } from "../../retry.ts";
import { Checker } from "../check.ts";
import { clientOf, CommandError, type Cli } from "../cli.ts";
import { Estimator, type Estimate } from "../estimate.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { contentKey, openInput, type Input } from "../input.ts";
import { barProgress, quietProgress, type Progress } from "../progress.ts";
import { reportError } from "../report-error.ts";
import { dollars } from "../text.ts";
import { holdWords } from "../words.ts";
import { PUSH_RETRIES, readEntries, type PushFlags } from "./push-options.ts";
import { findRefused, writeRefused, type RefusedLines } from "./push-refused.ts";
import {
  noteFollowing,
  printEstimate,
  printHeader,
  printPushed,
  printRefused,
  printScored,
  recordOf,
  reportAccepted,
  reportSent,
} from "./push-report.ts";
import { Reading } from "./reading.ts";

/** Pushes a file and follows its submissions until they end. */
export async function pushFile(cli: Cli, path: string, flags: PushFlags): Promise<ExitCode> {
  if (flags.header !== undefined && flags.format !== "tsv") {
    throw new CommandError(EXIT.usage, "--header works only with --format tsv: the other formats have no header.");
  }
  const progress = progressOf(cli);
  const client =
    flags.estimate === true
      ? null
      : clientOf(cli, {
          retries: PUSH_RETRIES,
          onLongWait: (error, wait) => progress.pausing(pauseWords(error), wait),
        });
  const input = await beforeSending(cli, () => openInput(path, cli));
  try {
    if (client === null || flags.maxUsd !== undefined) {
      const estimate = await beforeSending(cli, () => estimateFile(cli, input, flags));
      if (client === null) {
        printEstimate(cli.out, input.name, estimate);
        return EXIT.ok;
      }
      if (estimate.usd.total > (flags.maxUsd ?? Infinity)) return overBudget(estimate, flags);
    }
    return await sendFile(cli, client, input, flags, progress);
  } finally {
    await input.close();
  }
}

/** Reports a Ctrl-C while `work` reads the file. */
async function beforeSending<T>({ signal }: Cli, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw new CommandError(EXIT.interrupted, "Stopped before anything was sent.");
    throw error;
  }
}

function progressOf({ out, now }: Cli): Progress {
  return out.stderrIsTerminal ? barProgress(process.stderr, now) : quietProgress((text) => out.note(text));
}

async function estimateFile(cli: Cli, input: Input, flags: PushFlags): Promise<Estimate> {
  const estimator = new Estimator(flags.model);
  const checker = new Checker({ model: flags.model, truncateInputs: flags.truncate });
  // A push reports the header itself.
  const onHeader = flags.estimate === true ? printHeader(cli.out) : undefined;
  for await (const entry of readEntries(input, flags, onHeader)) {
    cli.signal.throwIfAborted();
    estimator.add(checker.check(entry));
  }
  return estimator.estimate();
}

function overBudget({ usd, assumptions }: Estimate, { maxUsd = 0 }: PushFlags): never {
  const message =
    `About ${dollars(usd.total)} is more than --max-usd ${dollars(maxUsd)}. Nothing was sent.\n` +
    `Assumed: ${assumptions.join("; ")}. --estimate shows the figures.`;
  throw new CommandError(EXIT.overBudget, message);
}

async function sendFile(
  cli: Cli,
  client: Sluice,
  input: Input,
  flags: PushFlags,
  progress: Progress,
): Promise<ExitCode> {
  const { out } = cli;
  const { collection, model, lane, label, truncate, format, header } = flags;
  const options = { collection, model, lane, label, truncate, format, header };
  const key = flags.key ?? (await beforeSending(cli, () => contentKey(input, options, cli.signal)));
  const reading = new Reading((onHeader) => readEntries(input, flags, onHeader), printHeader(out));
  const started = cli.now();
  let pushed: PushResult;
  let sentSoFar = 0;
  try {
    pushed = await client.push(reading.items(), {
      collection,
      model,
      lane,
      label,
      truncateInputs: truncate,
      gzip: flags.gzip,
      idempotencyKey: key,
      signal: cli.signal,
      onProgress({ sent, bytes: sentBytes, retry }) {
        sentSoFar = sent;
        progress.sending(sent, sentBytes, input.size);
        if (retry !== null) progress.pausing(pauseWords(retry.error), retry.wait);
      },
    });
  } catch (error) {
    progress.clear();
    if (cli.signal.aborted) {
      reportSent(out, "Stopped while sending", input.name, sentSoFar, flags);
      return EXIT.interrupted;
    }
    const nothing = ["nothing-acceptable", ...(reading.refused.length > 0 ? ["empty-body"] : [])];
    if (error instanceof SluicePushError && nothing.includes(error.code)) {
      pushed = error.pushed;
    } else {
      if (error instanceof SluicePushError && error.code === "empty-body") {
        throw new CommandError(EXIT.error, `${input.name} has no documents. Nothing was pushed.`);
      }
      if (!(error instanceof SluicePushError)) throw error;
      reportError(out, error);
      if (error.pushed.accepted > 0) reportAccepted(out, error.pushed);
      // A host name may stop resolving during a push.
      const isResumable = mayPass(error) || (error.code === "unreachable" && error.sent > 0);
      if (isResumable) reportSent(out, "Stopped retrying", input.name, error.sent, flags);
      return EXIT.error;
    }
  }
  progress.clear();
  const refused = await findRefused(pushed, reading, input, flags);
  const file = refused.lines.length === 0 ? null : await writeRefused(out, input, refused, format);
  printPushed(out, pushed, input.name, cli.now() - started);
  printRefused(out, refused, file);
  return follow(cli, client, { pushed, refused, file, wait: flags.wait }, progress);
}

function pauseWords({ code, title }: SluiceError): string {
  return code === "conflict" ? "an earlier push is still running" : title;
}

interface Followed {
  readonly pushed: PushResult;
  readonly refused: RefusedLines;
  readonly file: string | null;
  readonly wait: boolean;
}

async function follow(
  cli: Cli,
  client: Sluice,
  { pushed, refused, file, wait }: Followed,
  progress: Progress,
): Promise<ExitCode> {
  const { out } = cli;
  let submissions = pushed.submissions;
  let followed = wait && submissions.length > 0;
  try {
    if (followed) submissions = await waitForAll(cli, client, submissions, progress);
    // A replayed answer shows the state at the time of the first push.
    else if (pushed.alreadyThere > 0) submissions = await readAgain(cli, client, submissions);
  } catch (error) {
    progress.clear();
    if (cli.signal.aborted) {
      noteFollowing(out, "Stopped waiting. ", submissions);
      return EXIT.interrupted;
    }
    if (!(error instanceof SluiceError)) throw error;
    if (error.code !== "forbidden") {
      reportError(out, error);
      noteFollowing(out, "", submissions);
      return EXIT.error;
    }
    // A key without the read scope cannot follow the push.
    followed = false;
    if (wait) out.note("Everything was sent. The key lacks the read scope, so progress is not shown.");
  }
  progress.clear();
  if (out.human) printScored(out, submissions, followed || submissions.every(hasEnded));
  else out.record(recordOf(pushed, submissions, refused, file));
  const unscored = submissions.some(({ counts }) => counts.failed + counts.canceled > 0);
  if (followed && unscored) return EXIT.failed;
  return refused.count > 0 ? EXIT.refused : EXIT.ok;
}

async function readAgain(cli: Cli, client: Sluice, submissions: readonly Submission[]): Promise<Submission[]> {
  const latest: Submission[] = [];
  for (const { id } of submissions) latest.push(await client.submission(id, { signal: cli.signal }));
  return latest;
}

/** Follows submissions one after another and reports their combined state. */
async function waitForAll(
  cli: Cli,
  client: Sluice,
  submissions: readonly Submission[],
  progress: Progress,
): Promise<Submission[]> {
  const latest = new Map(submissions.map((submission) => [submission.id, submission]));
  for (const { id } of submissions) {
    await client.wait(id, {
      signal: cli.signal,
      onProgress(submission) {
        latest.set(id, submission);
        progress.scoring(sumCounts([...latest.values()]), holdWords(submission));
      },
    });
  }
  return [...latest.values()];
}

function sumCounts(submissions: readonly Submission[]): Submission["counts"] {
  const sum = { total: 0, queued: 0, processing: 0, succeeded: 0, failed: 0, canceled: 0 };
  for (const { counts } of submissions) {
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
  }
  return sum;
}
