import { queueOperations, utf8Length } from "@sluice/core";
import type { Counts } from "./counts.ts";

export function countedQueue(queue: Queue, counts: () => Counts): Queue {
  const note = (body: unknown): void => {
    const bytes = bytesOf(body);
    const { queue: counted } = counts();
    counted.messages += 1;
    counted.bytes += bytes;
    counted.written += queueOperations(bytes);
  };
  return {
    send: async (body: unknown, options?: QueueSendOptions) => {
      const sent = await queue.send(body, options);
      note(body);
      return sent;
    },
    sendBatch: async (messages: Iterable<MessageSendRequest>, options?: QueueSendBatchOptions) => {
      const list = [...messages];
      const sent = await queue.sendBatch(list, options);
      for (const message of list) note(message.body);
      return sent;
    },
  } as unknown as Queue;
}

/** A delivery whose messages count as read, and as deleted unless they are retried. */
export function countedDelivery(batch: MessageBatch, counts: () => Counts): { batch: MessageBatch; done: () => void } {
  const { queue: counted } = counts();
  const again = new Set<string>();
  const messages = batch.messages.map((message) => {
    counted.read += queueOperations(bytesOf(message.body));
    return {
      id: message.id,
      timestamp: message.timestamp,
      body: message.body,
      attempts: message.attempts,
      ack: () => message.ack(),
      retry: (options?: QueueRetryOptions) => {
        again.add(message.id);
        message.retry(options);
      },
    } satisfies Message;
  });
  return {
    batch: {
      queue: batch.queue,
      messages,
      ackAll: () => batch.ackAll(),
      retryAll: (options?: QueueRetryOptions) => {
        for (const { id } of messages) again.add(id);
        batch.retryAll(options);
      },
    } as unknown as MessageBatch,
    done: () => {
      for (const { id, body } of messages) if (!again.has(id)) counted.deleted += queueOperations(bytesOf(body));
    },
  };
}

function bytesOf(body: unknown): number {
  return utf8Length(typeof body === "string" ? body : JSON.stringify(body));
}
