import { hash } from "node:crypto";
import type { FailureCode, Pause } from "../../types.ts";
import { clientOf, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { shellCommand } from "../shell.ts";
import { ago, count, harmlessJson, plural, pluralVerb, until } from "../text.ts";
import { HAS, lostWords, PUSH_LOST_AGAIN, retryWords } from "../words.ts";

export async function cancel(cli: Cli, id: string): Promise<ExitCode> {
  const submission = await clientOf(cli).cancel(id, { signal: cli.signal });
  if (!cli.out.human) {
    cli.out.record(submission);
    return EXIT.ok;
  }
  if (submission.status === "completed") {
    cli.out.print(`${id} is already completed. There is nothing to cancel.`);
    return EXIT.ok;
  }
  const open = submission.counts.queued + submission.counts.processing;
  const { queued } = submission.counts;
  const inQueue =
    queued === 0
      ? ""
      : ` ${count(queued)} in the Queue: canceled on arrival, or failed as message_lost if they never arrive.`;
  const rest =
    open === 0 ? "" : ` ${pluralVerb(open, "document", HAS)} not ended: dispatched documents still finish.${inQueue}`;
  const { failed } = submission.counts;
  // A retry in progress may not have queued all failed documents. It queues no more.
  const left = open > 0 || failed === 0 ? "" : ` ${plural(failed, "document")} failed and will not be retried.`;
  cli.out.print(`${id} is ${submission.status}.${rest}${left}`);
  return EXIT.ok;
}

export interface RetryFlags {
  readonly code?: FailureCode;
}

export async function retry(cli: Cli, id: string, flags: RetryFlags): Promise<ExitCode> {
  const {
    queued,
    lost,
    expired = 0,
    submission,
  } = await clientOf(cli).retry(id, { code: flags.code, signal: cli.signal });
  const { out } = cli;
  if (!out.human) {
    out.record({ submission, queued, lost, expired });
    return EXIT.ok;
  }
  const follow = shellCommand(["sluice", "status"], [id]);
  if (submission.retry !== null) out.print(`${retryWords(submission.retry)}. Follow it: ${follow}`);
  else if (queued > 0) out.print(`${plural(queued, "document")} queued again. Follow it: ${follow}`);
  else if (lost + expired === 0) out.print(`${id} has no failed documents to queue again.`);
  if (lost > 0) out.print(lostWords(lost));
  if (expired > 0) {
    out.print(
      `${plural(expired, "failed document")} cannot be queued again: retention deleted them or their texts. ` +
        PUSH_LOST_AGAIN,
    );
  }
  return EXIT.ok;
}

interface TargetFlags {
  readonly model?: string;
  readonly submission?: string;
}

export interface PauseFlags extends TargetFlags {
  readonly reason?: string;
}

export async function pause(cli: Cli, flags: PauseFlags): Promise<ExitCode> {
  const pauses = await clientOf(cli).pause(flags, { reason: flags.reason, signal: cli.signal });
  if (cli.out.human) printPauses(cli, pauses);
  else for (const one of pauses) cli.out.record(one);
  return EXIT.ok;
}

export async function resume(cli: Cli, flags: TargetFlags): Promise<ExitCode> {
  const { out, now } = cli;
  const answer = await clientOf(cli).resume(flags, { signal: cli.signal });
  if (!out.human) {
    out.record(answer);
    return EXIT.ok;
  }
  const { resumed, data } = answer;
  const target = flags.model ?? flags.submission ?? "everything";
  if (resumed === null) out.print(`Nothing to resume: there was no pause of ${target}.`);
  else out.print(`Resumed ${target}, paused ${ago(resumed.since, now())} (${whyPaused(resumed)}).`);
  if (data.length > 0) {
    out.print("Still paused:\n");
    printPauses(cli, data);
  }
  return EXIT.ok;
}

function whyPaused({ reason, message }: Pause): string {
  return message === null ? reason : `${reason}: ${message}`;
}

function printPauses({ out, now }: Cli, pauses: readonly Pause[]): void {
  out.table(
    [{ title: "PAUSED" }, { title: "WHY" }, { title: "SINCE" }, { title: "UNTIL" }],
    pauses.map((one) => [
      one.scope === "all" ? "everything" : one.scope,
      whyPaused(one),
      ago(one.since, now()),
      one.until === null ? "resumed" : until(one.until, now()),
    ]),
  );
}

export interface KeyFlags {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly collections?: readonly string[];
}

/** Creates a key and shows it once. The API stores only its hash. */
export function newKey(cli: Cli, flags: KeyFlags): ExitCode {
  const key = `sluice_${Buffer.from(cli.randomBytes(24)).toString("base64url")}`;
  const entry = {
    name: flags.name,
    sha256: hash("sha256", key),
    scopes: flags.scopes,
    ...(flags.collections !== undefined && { collections: flags.collections }),
  };
  if (!cli.out.human) {
    cli.out.record({ key, entry });
    return EXIT.ok;
  }
  cli.out.print(`${cli.out.style(key, "bold")}   shown only once: store it now\n`);
  cli.out.print("Its entry in the list in the secret SLUICE_API_KEYS:\n");
  cli.out.print(harmlessJson(JSON.stringify(entry)));
  cli.out.print(
    `\nAdd the entry to the list and upload the list: npx wrangler secret put SLUICE_API_KEYS --name sluice-producer`,
  );
  return EXIT.ok;
}
