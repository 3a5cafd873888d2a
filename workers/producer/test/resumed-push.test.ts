import { env } from "cloudflare:test";
import { afterEach, describe, expect, it } from "vitest";
import { jobId } from "@sluice/pipeline/test-support/fixtures.ts";
import { openDatabase } from "@sluice/db";
import { NOW, testApi } from "./api.ts";
import type { ApiContext } from "../src/context.ts";
import { recordMessages } from "./record-messages.ts";

/** The lines of a push. `i`: a part that a message carries, of two documents; two fill a call. `s`: a staged part, of one. */
function linesOf(order: string): string[] {
  const sizes = order.split("").flatMap((kind) => (kind === "i" ? [60_000, 60_000] : [140_000]));
  return sizes.map(
    (size, index) => `${JSON.stringify({ id: `d${index}`, query: "q", contexts: ["x".repeat(size)] })}\n`,
  );
}

/** The lines as they arrive, and an action after the last. */
function bodyOf(lines: readonly string[], end: (controller: ReadableStreamDefaultController) => void) {
  let next = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const line = lines[next];
        next += 1;
        if (line === undefined) end(controller);
        else controller.enqueue(new TextEncoder().encode(line));
      },
    },
    { highWaterMark: 0 },
  );
}

async function push(
  body: ReadableStream<Uint8Array>,
  sendBatch: (bodies: string[]) => Promise<void>,
  more: Partial<ApiContext> = {},
) {
  const queue = {
    sendBatch: (messages: Iterable<{ body: string }>) => sendBatch(Array.from(messages, (one) => one.body)),
  };
  const api = await testApi({ queues: { interactive: queue, bulk: queue }, ...more });
  const headers = { "content-type": "application/x-ndjson", "idempotency-key": "k" };
  return api.fetch("/v1/documents", { method: "POST", body, headers });
}

/**
 * A push whose client disconnects before its last document, during its first call: later inline parts wait and are not
 * counted, and the staged ones among them are. Gives the messages that the Queue accepted.
 */
async function breakOff(lines: readonly string[]): Promise<string[]> {
  const sent: string[] = [];
  const gone = Promise.withResolvers<void>();
  const body = bodyOf(lines.slice(0, -1), (controller) => {
    gone.resolve();
    controller.error(new Error("the client is gone"));
  });
  const answer = await push(body, async (bodies) => {
    await gone.promise;
    sent.push(...bodies);
  });
  expect(answer.status).toBe(400);
  return sent;
}

const isInline = (body: string) => body.includes('"kind":"part"');
const staged = async () => {
  const { results } = await env.DB.prepare("SELECT body FROM staged_parts ORDER BY part").all<{ body: string }>();
  return results.map(({ body }) => body);
};
/** Records each part as it arrives, in its own job, so that D1 refuses a part that `total` does not count. */
async function record(bodies: readonly string[]): Promise<void> {
  for (const body of bodies) await recordMessages([body], jobId());
}

const RECORDED = {
  nothing: async () => {},
  "what was staged": async () => record(await staged()),
  "what was sent": async (sent: readonly string[]) => record(sent.filter(isInline)),
  "all of it": async (sent: readonly string[]) => record([...sent.filter(isInline), ...(await staged())]),
};

afterEach(async () => {
  const tables = ["submissions", "parts", "contexts", "staged_parts", "documents", "jobs", "idempotency_keys"];
  await env.DB.batch(tables.map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
});

describe("an interrupted push with inline parts before staged ones", () => {
  const cases = ["iiiiisi", "siiiisi", "isisiiiiisi"].flatMap((order) =>
    Object.entries(RECORDED).map(([before, recordBefore]) => ({ order, before, recordBefore })),
  );
  it.each(cases)(
    "counts each part before it may be recorded: $order, recorded before: $before",
    async ({ order, recordBefore }) => {
      const lines = linesOf(order);
      const sent = await breakOff(lines);
      await recordBefore(sent);
      // Every part that was sent is recorded before the next call: it must be counted by then.
      const answer = await push(
        bodyOf(lines, (controller) => controller.close()),
        async (bodies) => {
          sent.push(...bodies);
          await record([...sent.filter(isInline), ...(await staged())]);
        },
      );
      expect([answer.status, await answer.json()]).toMatchObject([202, { accepted: lines.length }]);
      await record([...sent.filter(isInline), ...(await staged())]);
      expect(
        await env.DB.prepare("SELECT total, recorded, lost, closed_at IS NULL AS open FROM submissions").first(),
      ).toEqual({ total: lines.length, recorded: lines.length, lost: 0, open: 0 });
    },
  );
});

describe("a request that another one overtakes while it takes over a push", () => {
  /** D1 whose reads of a push's parts wait for `before`. */
  const readingPartsAfter = (before: () => Promise<void>) =>
    openDatabase(
      new Proxy(env.DB, {
        get(target, property) {
          if (property !== "prepare") return (Reflect.get(target, property) as () => unknown).bind(target);
          return (sql: string) => {
            const statement = target.prepare(sql);
            if (!sql.includes("'recorded' AS state")) return statement;
            return {
              bind: (...values: unknown[]) => ({ all: () => before().then(() => statement.bind(...values).all()) }),
            };
          };
        },
      }),
    );

  it("is answered that another request has the push, not that the body differs", async () => {
    const lines = linesOf("iiii");
    const sent = await breakOff(lines);
    await record(sent);
    const whole = () => bodyOf(lines, (controller) => controller.close());
    const keep = async (bodies: string[]) => record(bodies);
    const statuses: number[] = [];
    const overtake = async () => {
      statuses.push((await push(whole(), keep, { now: () => NOW + 61_000 })).status);
    };
    statuses.push((await push(whole(), keep, { db: readingPartsAfter(overtake) })).status);
    expect(statuses).toEqual([202, 409]);
  });
});
