import { utf8Length } from "@sluice/core";
import { readLines } from "./lines.ts";

const MAX_MESSAGES = 100;
const MAX_BYTES = 250_000;
const MESSAGE_OVERHEAD_BYTES = 100;

/** The part of a Queue binding in use. */
interface SendQueue {
  sendBatch(messages: MessageSendRequest<string>[]): Promise<unknown>;
}

/**
 * Sends a message for each line of a body, in calls as large as the Queue accepts; none for a line whose message is null.
 * Returns the number of messages.
 */
export async function sendEach(
  body: ReadableStream<Uint8Array>,
  queue: SendQueue,
  messageOf: (line: string) => string | null,
): Promise<number> {
  let call: MessageSendRequest<string>[] = [];
  let bytes = 0;
  let sent = 0;
  const send = async () => {
    await queue.sendBatch(call);
    sent += call.length;
    call = [];
    bytes = 0;
  };
  for await (const lines of readLines(body)) {
    for (const line of lines) {
      if (line === "") continue;
      const message = messageOf(line);
      if (message === null) continue;
      const size = utf8Length(message) + MESSAGE_OVERHEAD_BYTES;
      if (call.length === MAX_MESSAGES || (call.length > 0 && bytes + size > MAX_BYTES)) await send();
      call.push({ body: message, contentType: "text" });
      bytes += size;
    }
  }
  if (call.length > 0) await send();
  return sent;
}

/** Processes a list, `atOnce` items at a time. A Worker has six connections. */
export async function eachOf<T>(list: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = list.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** Returns a line unchanged as its message, after checking that it is JSON. */
export function asItIs(line: string): string {
  JSON.parse(line);
  return line;
}
