import type { DocumentIn } from "../types.ts";

/**
 * What is pushed, one after another: documents, or texts that hold a document's JSON each and are
 * sent as they are.
 */
export type PushItem = DocumentIn | string;

/** Everything that documents may come from. */
export type PushInput = DocumentIn | Iterable<PushItem> | AsyncIterable<PushItem> | ReadableStream<PushItem>;

/** Takes items from any input, one at a time. */
export type Next = () => Promise<PushItem | null>;

export interface Source {
  /** The next item; `null` at the end. */
  readonly next: Next;
  /** Lets go of an input that is not read to its end. */
  readonly stop: () => void;
}

export function openSource(input: PushInput): Source {
  if (typeof input === "string") throw new TypeError("push takes documents: a text by itself goes into a list");
  // Not every runtime's streams can be iterated.
  if (input instanceof ReadableStream) return fromStream(input);
  if (Symbol.asyncIterator in input) return fromIterator(input[Symbol.asyncIterator]());
  if (Symbol.iterator in input) return fromIterator(input[Symbol.iterator]());
  return fromIterator([input][Symbol.iterator]());
}

function fromIterator(iterator: Iterator<PushItem> | AsyncIterator<PushItem>): Source {
  return {
    async next() {
      const read = await iterator.next();
      return read.done === true ? null : read.value;
    },
    stop() {
      // One that hangs is not waited for, and what it has to say comes too late.
      void Promise.resolve(iterator.return?.()).catch(() => {});
    },
  };
}

function fromStream(stream: ReadableStream<PushItem>): Source {
  const reader = stream.getReader();
  return {
    async next() {
      const read = await reader.read();
      return read.done ? null : read.value;
    },
    stop() {
      reader.cancel().catch(() => {});
    },
  };
}

/** An item as one line of NDJSON, its end included. */
export function toLine(item: PushItem): string {
  if (typeof item !== "string") return `${(JSON.stringify(item) as string | undefined) ?? "null"}\n`;
  // Between JSON's values a line break is a space like any other; within a string it is not valid anyway.
  return /[\r\n]/.test(item) ? `${item.replaceAll(/[\r\n]+/g, " ")}\n` : `${item}\n`;
}
