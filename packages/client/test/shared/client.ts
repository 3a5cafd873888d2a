import { Sluice, type Document, type Io, type SluiceOptions } from "../../src/index.ts";
import { FakeApi, KEY } from "../fake-api.ts";

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

/** A client of a fake API with one submission of `count` documents, whose id is `id`. */
export async function pushed(count: number) {
  const api = new FakeApi();
  const made = clientOf(api);
  const { submissions } = await made.client.push(documents(count), { collection: "c", label: "l" });
  api.received.length = 0;
  return { api, ...made, id: submissions[0]?.id ?? "" };
}

export const idsOf = (found: readonly Document[]) => found.map(({ id }) => id);

export const pathsOf = (api: FakeApi) =>
  api.received.map(({ method, url }) => `${method} ${url.pathname}${url.search}`);

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
