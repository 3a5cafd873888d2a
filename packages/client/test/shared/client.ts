import { Sluice, type Io, type SluiceOptions } from "../../src/index.ts";
import { KEY, type FakeApi } from "../fake-api.ts";

/** A client of `api` that does not really wait. `waits` collects the delays in milliseconds. */
export function clientOf(api: Pick<FakeApi, "fetch">, options: Partial<SluiceOptions> = {}, io: Partial<Io> = {}) {
  const waits: number[] = [];
  let time = 0;
  const client = new Sluice(
    { url: "http://sluice.test/", key: KEY, fetch: api.fetch, ...options },
    {
      sleep: async (milliseconds, signal) => {
        signal?.throwIfAborted();
        waits.push(milliseconds);
        time += milliseconds;
      },
      now: () => time,
      random: () => 1,
      ...io,
    },
  );
  return { client, waits };
}

export function documents(count: number, text = "a text"): { id: string; query: string; contexts: string[] }[] {
  return Array.from({ length: count }, (_, index) => ({ id: `d${index + 1}`, query: "a query", contexts: [text] }));
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function* slowly<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) {
    await Promise.resolve();
    yield item;
  }
}

export function streamOf<T>(items: readonly T[]): ReadableStream<T> {
  const left = items.values();
  return new ReadableStream({
    pull(controller) {
      const read = left.next();
      if (read.done === true) controller.close();
      else controller.enqueue(read.value);
    },
  });
}
