import type { DocumentIn } from "../types.ts";

/**
 * What is pushed, one after another: documents, or texts that hold a document's JSON each and are
 * sent as they are.
 */
export type PushItem = DocumentIn | string;

/** Everything that documents may come from. */
export type PushInput = DocumentIn | Iterable<PushItem> | AsyncIterable<PushItem> | ReadableStream<PushItem>;

/**
 * The next item, or the end. An item may be any value, whatever its type says: `null` and `undefined` are
 * lines that the API refuses, and no end.
 */
export type Read = { readonly done: true } | { readonly done: false; readonly item: unknown };

/** Takes items from any input, one at a time. */
export type Next = () => Promise<Read>;

export interface Source {
  readonly next: Next;
  /** Lets go of an input that is not read to its end. */
  readonly stop: () => void;
}

/** Takes documents from `input`. A wait for the next one rejects with the reason of `signal` once that aborts. */
export function openSource(input: PushInput, signal?: AbortSignal): Source {
  const wrong = wrongInput(input);
  if (wrong !== null) throw new TypeError(`push takes ${wrong}`);
  const wait = abortable(signal);
  const { next, stop } = fromInput(input);
  return {
    async next() {
      const read = next();
      const { done, value } = isPromise(read) ? await wait.until(read) : read;
      if (done === true) return { done: true };
      if (isBytes(value)) throw new TypeError(`push takes ${BYTES}`);
      return { done: false, item: value };
    },
    stop() {
      wait.stop();
      // One that hangs is not waited for, and what it has to say comes too late.
      void stop().catch(() => {});
    },
  };
}

/** What an iterator or a stream's reader gives, in whichever runtime's types. */
interface Result {
  readonly done?: boolean | undefined;
  readonly value?: unknown;
}

interface Input {
  readonly next: () => Result | Promise<Result>;
  readonly stop: () => Promise<unknown>;
}

function fromInput(input: PushInput): Input {
  // Not every runtime's streams can be iterated.
  if (input instanceof ReadableStream) {
    const reader = input.getReader();
    return { next: () => reader.read(), stop: () => reader.cancel() };
  }
  const iterator: Iterator<unknown> | AsyncIterator<unknown> =
    Symbol.asyncIterator in input
      ? input[Symbol.asyncIterator]()
      : Symbol.iterator in input
        ? input[Symbol.iterator]()
        : [input].values();
  return { next: () => iterator.next(), stop: async () => iterator.return?.() };
}

const BYTES = "documents, not bytes: readDocuments(bytes) of this package gives those of NDJSON";

/** What would be better, where an input is surely none; `null`: it may be one. Its type keeps no one from it. */
function wrongInput(input: unknown): string | null {
  if (typeof input === "string") return "documents: a text by itself, which holds one's JSON, goes into a list";
  if (isBytes(input) || (typeof Blob !== "undefined" && input instanceof Blob)) return BYTES;
  if (typeof input === "function") return "documents, not a function: call it, and give what it returns";
  if (typeof input !== "object" || input === null) {
    return `documents: a list, anything iterable, a stream, or one document; this is ${input === null ? "null" : typeof input}`;
  }
  return isPromise(input) ? "documents, not a promise of them: await it first" : null;
}

function isBytes(value: unknown): boolean {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Waits that end with a signal, one at a time and any number of them for one listener. */
function abortable(signal: AbortSignal | undefined) {
  let rejectWait: ((reason: unknown) => void) | null = null;
  const onAbort = () => rejectWait?.(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    until<T>(promise: Promise<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        rejectWait = reject;
        promise.then(resolve, reject);
        // One that aborted before tells nobody anymore.
        if (signal?.aborted === true) onAbort();
      });
    },
    stop() {
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

/** An item as one line of NDJSON, its end included. */
export function toLine(item: unknown): string {
  if (typeof item !== "string") return `${(JSON.stringify(item) as string | undefined) ?? "null"}\n`;
  // Between JSON's values a line break is a space like any other; within a string it is not valid anyway.
  return /[\r\n]/.test(item) ? `${item.replaceAll(/[\r\n]+/g, " ")}\n` : `${item}\n`;
}
