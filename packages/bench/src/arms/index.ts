import { setTimeout as wait } from "node:timers/promises";
import type { Stack } from "../runtime/stack.ts";
import type { Arm } from "./arm.ts";

/** Milliseconds between cron runs and between table reads in timed runs. */
const TICK_MS = 40;
const MAX_TICKS = 20_000;

export async function tickUntil(done: () => Promise<boolean>, tick = TICK_MS): Promise<void> {
  for (let ticks = 0; ticks < MAX_TICKS; ticks += 1) {
    if (await done()) return;
    await wait(tick);
  }
  throw new Error(`not done after ${MAX_TICKS} reads`);
}

async function post(
  stack: Stack,
  worker: string,
  path: string,
  status: number,
  bodies: readonly string[],
): Promise<void> {
  const headers = { "content-type": "application/x-ndjson" };
  for (const body of bodies) await stack.expect(status, worker, path, { method: "POST", body, headers });
}

export const floor: Arm = {
  name: "floor",
  table: "outcomes",
  push: (stack, bodies) => post(stack, "floor", "/", 201, bodies),
  recorded: async () => undefined,
  poll: async () => undefined,
  isDone: async () => true,
};

export const relay: Arm = {
  name: "relay",
  table: "outcomes",
  push: (stack, bodies) => post(stack, "relay", "/", 202, bodies),
  recorded: (stack, documents) => tickUntil(async () => (await stack.countRows("relay", "documents")) === documents),
  poll: (stack) => stack.scheduled("relay"),
  isDone: async (stack, documents) => (await stack.countRows("relay", "outcomes")) === documents,
};

export const tutorial: Arm = {
  name: "tutorial",
  table: "results",
  push: (stack, bodies) => post(stack, "tutorial", "/", 202, bodies),
  recorded: async () => undefined,
  poll: async () => undefined,
  isDone: async (stack, documents) => (await stack.countRows("tutorial", "results")) === documents,
};

function rowPerDocument(name: "row-per-document" | "row-per-document-batched"): Arm {
  return {
    name,
    table: "requests",
    push: (stack, bodies) => post(stack, name, "/", 202, bodies),
    recorded: (stack, documents) =>
      tickUntil(async () => (await stack.countRows(name, "requests", "status = 'processing'")) === documents),
    poll: (stack) => stack.scheduled(name),
    isDone: async (stack, documents) => (await stack.countRows(name, "requests", "status = 'completed'")) === documents,
  };
}

export const sluice: Arm = {
  name: "sluice",
  table: "outcomes",
  push: (stack, bodies) => post(stack, "sluice-producer", "/v1/documents?lane=bulk", 202, bodies),
  recorded: (stack, documents) =>
    tickUntil(async () => {
      const dispatched = await stack.sql<{ documents: number }>(
        "SELECT coalesce(sum(document_count), 0) AS documents FROM jobs WHERE status = 'dispatched'",
      );
      return dispatched.results[0]?.documents === documents;
    }),
  poll: (stack) => stack.scheduled("eager-poller"),
  isDone: async (stack, documents) => {
    const ended = await stack.sql<{ documents: number }>(
      "SELECT coalesce(sum(succeeded), 0) AS documents FROM submissions",
    );
    return ended.results[0]?.documents === documents;
  },
};

export const arms: readonly Arm[] = [
  floor,
  relay,
  tutorial,
  rowPerDocument("row-per-document"),
  rowPerDocument("row-per-document-batched"),
  sluice,
];
