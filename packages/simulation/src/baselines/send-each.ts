import { utf8Length } from "@sluice/core";
import { readLines } from "./lines.ts";

const MAX_MESSAGES = 100;
const MAX_BYTES = 250_000;
const MESSAGE_OVERHEAD_BYTES = 100;

/** The one thing that is done to a Queue. */
interface SendQueue {
  sendBatch(messages: MessageSendRequest<string>[]): Promise<unknown>;
}

/** Sends a message for each line of a body, in calls as large as the Queue takes; gives how many. */
export async function sendEach(
  body: ReadableStream<Uint8Array>,
  queue: SendQueue,
  messageOf: (line: string) => string,
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
      const size = utf8Length(message) + MESSAGE_OVERHEAD_BYTES;
      if (call.length === MAX_MESSAGES || (call.length > 0 && bytes + size > MAX_BYTES)) await send();
      call.push({ body: message, contentType: "text" });
      bytes += size;
    }
  }
  if (call.length > 0) await send();
  return sent;
}

/** Works through a list, `atOnce` at a time: a Worker has six connections. */
export async function eachOf<T>(list: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = list.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** A line as the message that it becomes, once it is known to be JSON. */
export function asItIs(line: string): string {
  JSON.parse(line);
  return line;
}
