import { SluiceError, type ErrorCode } from "../../errors.ts";
import type { MalformedMessage } from "../../types.ts";
import { clientOf, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { errorWords } from "../report-error.ts";
import { take } from "../take.ts";
import { ago, bytes, oneLine, plural } from "../text.ts";

/** Errors that affect one message only. The others can still be sent. */
const ONLY_THIS_MESSAGE: ReadonlySet<ErrorCode> = new Set(["conflict", "not-found"]);

export interface MalformedFlags {
  /** One message id, or all messages. */
  readonly replay?: string | true;
  readonly discard?: string;
  readonly limit: number;
}

/** Lists quarantined messages, replays one or all of them to their queues, or discards one. */
export async function malformed(cli: Cli, flags: MalformedFlags): Promise<ExitCode> {
  if (flags.replay !== undefined) return replay(cli, flags.replay);
  if (flags.discard !== undefined) return discard(cli, flags.discard);
  const { items } = await take(clientOf(cli).malformed({ limit: flags.limit, signal: cli.signal }), flags.limit);
  printMessages(cli, items);
  return EXIT.ok;
}

async function replay(cli: Cli, id: string | true): Promise<ExitCode> {
  const client = clientOf(cli);
  const ids = id === true ? [] : [id];
  // All messages are listed before the first is replayed: a message that still fails comes back under another id.
  if (id === true) for await (const message of client.malformed({ signal: cli.signal })) ids.push(message.id);
  let replayed = 0;
  let refused = 0;
  for (const one of ids) {
    try {
      replayed += (await client.replayMalformed(one, { signal: cli.signal })).replayed;
    } catch (error) {
      if (id !== true || !(error instanceof SluiceError && ONLY_THIS_MESSAGE.has(error.code))) throw error;
      refused += 1;
      cli.out.note(cli.out.noteStyle(oneLine(`${one}: ${errorWords(error)}`), "red"));
    }
  }
  if (!cli.out.human) cli.out.record({ replayed });
  else if (ids.length === 0) cli.out.print("No message is quarantined.");
  else
    cli.out.print(
      `${plural(replayed, "message")} sent again. If they fail again, they reappear here: sluice malformed`,
    );
  return refused === 0 ? EXIT.ok : EXIT.error;
}

async function discard(cli: Cli, id: string): Promise<ExitCode> {
  await clientOf(cli).discardMalformed(id, { signal: cli.signal });
  if (cli.out.human) cli.out.print("1 message discarded.");
  else cli.out.record({ discarded: 1 });
  return EXIT.ok;
}

function printMessages({ out, now }: Cli, messages: readonly MalformedMessage[]): void {
  if (!out.human) {
    for (const message of messages) out.record(message);
  } else if (messages.length === 0) {
    out.print("No message is quarantined.");
  } else {
    out.table(
      [
        { title: "QUEUE" },
        { title: "RECEIVED", side: "right" },
        { title: "BYTES", side: "right" },
        { title: "SUBMISSION" },
        { title: "REASON" },
        { title: "ID", whole: true },
      ],
      messages.map((message) => [
        message.queue,
        ago(message.received_at, now()),
        bytes(message.bytes),
        message.submission_id ?? "",
        message.reason,
        message.id,
      ]),
    );
    out.print("\nReplay them once the cause is fixed: sluice malformed --replay");
    out.print("Discard one that cannot be replayed: sluice malformed --discard ID");
  }
}
