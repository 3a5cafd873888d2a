import { expect, test } from "vitest";
import type { DocumentIn } from "../../src/index.ts";
import { FakeApi, problem } from "../fake-api.ts";
import { clientOf, documents } from "./client.ts";

test("an aborted push throws the signal's reason and closes its source", async () => {
  const api = new FakeApi();
  const stop = new AbortController();
  const reason = new Error("stopped by hand");
  let released = false;
  async function* endless() {
    try {
      for (;;) yield* documents(1_000);
    } finally {
      released = true;
    }
  }
  const sent: number[] = [];
  const push = clientOf(api).client.push(endless(), {
    signal: stop.signal,
    onProgress: (progress) => {
      sent.push(progress.sent);
      if (progress.sent > 5_000) stop.abort(reason);
    },
  });
  await expect(push).rejects.toBe(reason);
  expect(released).toBe(true);
  expect(sent.length).toBeGreaterThan(1);
});

/** A source that yields a number of documents and then waits forever. */
const waiting = {
  "an async iterable": (count: number, onReturn: () => void): AsyncIterable<DocumentIn> => {
    const left = documents(count).values();
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const read = left.next();
          return read.done === true ? new Promise<never>(() => {}) : read;
        },
        return: async () => {
          onReturn();
          return { done: true, value: undefined };
        },
      }),
    };
  },
  "a stream": (count: number, onReturn: () => void) => {
    const left = documents(count).values();
    return new ReadableStream<DocumentIn>({
      pull(controller) {
        const read = left.next();
        if (read.done === true) return new Promise<never>(() => {});
        controller.enqueue(read.value);
        return undefined;
      },
      cancel: onReturn,
    });
  },
};

test.each(
  Object.entries(waiting).flatMap(([name, source]) => [
    [name, "before anything is sent", 3, source] as const,
    [name, "while its body is sent", 2_000, source] as const,
  ]),
)("a push that waits for %s ends at once when aborted, %s", async (_, __, count, source) => {
  const stop = new AbortController();
  const reason = new Error("stopped by hand");
  let returned = 0;
  // It reads only the body, like a network that ignores the signal.
  const fetch: FakeApi["fetch"] = async (___, init) => {
    const reader = (init?.body as ReadableStream<Uint8Array> | undefined)?.getReader();
    while ((await reader?.read())?.done === false);
    return problem(500, "internal");
  };
  const push = clientOf({ fetch }).client.push(
    source(count, () => (returned += 1)),
    { signal: stop.signal },
  );
  push.catch(() => {});
  // Everything that does not wait forever is done by then.
  await new Promise((resolve) => setTimeout(resolve));
  stop.abort(reason);
  await expect(push).rejects.toBe(reason);
  expect(returned).toBe(1);
});

test("reports no progress after a push, even if its body is read further", async () => {
  let body: ReadableStream<Uint8Array> | null | undefined;
  const fetch: FakeApi["fetch"] = async (_, init) => {
    body = init?.body as ReadableStream<Uint8Array>;
    return problem(401, "unauthorized");
  };
  let reported = 0;
  const push = clientOf({ fetch }).client.push(documents(5_000), { onProgress: () => (reported += 1) });
  await expect(push).rejects.toMatchObject({ status: 401 });
  const reader = body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  expect(reported).toBe(0);
});
