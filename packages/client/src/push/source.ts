import type { DocumentIn } from "../types.ts";

/** An item to push: a document, or the JSON text of one, which is sent unchanged. */
export type PushItem = DocumentIn | string;

/** Everything that `push` accepts as its input. */
export type PushInput = DocumentIn | Iterable<PushItem> | AsyncIterable<PushItem> | ReadableStream<PushItem>;

/**
 * The next item, or the end. An item may be any value, whatever its type says: `null` and `undefined` are lines that
 * the API refuses, not the end.
 */
export type Read = { readonly done: true } | { readonly done: false; readonly item: unknown };

/** Reads items from any input, one at a time. */
export type Next = () => Promise<Read>;

export interface Source {
  readonly next: Next;
  /** Closes an input that is not read to its end. */
  readonly stop: () => void;
}

/** Reads documents from `input`. Waiting for the next one rejects with the reason of `signal` when that aborts. */
export function openSource(input: PushInput, signal?: AbortSignal): Source {
  const wrong = wrongInput(input);
  if (wrong !== null) throw new TypeError(`push needs ${wrong}`);
  const wait = abortable(signal);
  const { next, stop } = fromInput(input);
  return {
    async next() {
      const read = next();
      const { done, value } = isPromise(read) ? await wait.until(read) : read;
      if (done === true) return { done: true };
      if (isBytes(value)) throw new TypeError(`push needs ${BYTES}`);
      return { done: false, item: value };
    },
    stop() {
      wait.stop();
      // Do not wait for an input that hangs. Its errors come too late to matter.
      void stop().catch(() => {});
    },
  };
}

/** The result of an iterator or a stream reader, in the types of either runtime. */
interface Result {
  readonly done?: boolean | undefined;
  readonly value?: unknown;
}

interface Input {
  readonly next: () => Result | Promise<Result>;
  readonly stop: () => Promise<unknown>;
}

function fromInput(input: PushInput): Input {
  // Not every runtime's streams are async iterable.
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

const BYTES = "documents, not bytes: use readDocuments(bytes) of this package to read NDJSON";

/**
 * The reason an input is certainly wrong, with the fix; `null` if it may be right. The types do not exclude these
 * inputs.
 */
function wrongInput(input: unknown): string | null {
  if (typeof input === "string") return "documents: put the JSON text of a single document in a list";
  if (isBytes(input) || (typeof Blob !== "undefined" && input instanceof Blob)) return BYTES;
  if (typeof input === "function") return "documents, not a function: call it and pass the result";
  if (typeof input !== "object" || input === null) {
    return `documents: a list, anything iterable, a stream, or one document; got ${input === null ? "null" : typeof input}`;
  }
  return isPromise(input) ? "documents, not a promise of them: await it first" : null;
}

function isBytes(value: unknown): boolean {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Waits that end when a signal aborts. All share one listener, and only one is active at a time. */
function abortable(signal: AbortSignal | undefined) {
  let rejectWait: ((reason: unknown) => void) | null = null;
  const onAbort = () => rejectWait?.(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    until<T>(promise: Promise<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        rejectWait = reject;
        promise.then(resolve, reject);
        // An earlier abort fires no event.
        if (signal?.aborted === true) onAbort();
      });
    },
    stop() {
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

/** Serializes an item as one line of NDJSON with its line feed. */
export function toLine(item: unknown): string {
  if (typeof item !== "string") return `${(JSON.stringify(item) as string | undefined) ?? "null"}\n`;
  // Between JSON tokens a line break is white space. Inside a string it is invalid anyway.
  return /[\r\n]/.test(item) ? `${item.replaceAll(/[\r\n]+/g, " ")}\n` : `${item}\n`;
}
