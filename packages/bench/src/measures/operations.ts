import { setTimeout } from "node:timers/promises";
import type { Arm, ArmName } from "../arms/arm.ts";
import { arms, sluice, tickUntil } from "../arms/index.ts";
import { aiCalls, queueOperations, rowsRead, rowsWritten, type Counts } from "../counting/counts.ts";
import { makeDocuments, MIDDLE, toBodies, type BenchDocument } from "../documents.ts";
import type { Stack } from "../runtime/stack.ts";

/** The cost of one way of pushing, per document. */
export interface Usage {
  readonly arm: ArmName;
  readonly way: "bulk" | "one by one";
  /** Polls per batch; 0 for designs without polls. */
  readonly polls: number;
  readonly documents: number;
  readonly rowsWritten: number;
  readonly rowsRead: number;
  readonly queueOperations: number;
  readonly requests: number;
  readonly aiCalls: number;
  /** D1 bytes per document; `null` if the database was not new. */
  readonly storageBytes: number | null;
  /** Documents per job on average; Sluice only. */
  readonly meanJob: number | null;
}

const BODY_BYTES = 45_000_000;
/** Pushes of one document that run in parallel. */
const PUSHES_AT_ONCE = 8;
const ONE_BY_ONE = 200;

/**
 * Sluice's poller sweeps in each of its runs in the first of five minutes: it looks for what is old, stalled or wrong, and
 * reads rows for that, however few documents there are. Milliseconds.
 */
const SWEEPS_EVERY_MS = 300_000;
const SWEEPS_FOR_MS = 60_000;
/** The time to count one document, at most, and any number of them. */
const DOCUMENT_MS = 2;
const COUNT_MS = 20_000;

/** Waits until no sweep is due while this many documents are counted. */
async function awayFromSweeps(documents: number): Promise<void> {
  const needed = Math.min(COUNT_MS + documents * DOCUMENT_MS, SWEEPS_EVERY_MS - SWEEPS_FOR_MS);
  const since = Date.now() % SWEEPS_EVERY_MS;
  const wait = since < SWEEPS_FOR_MS ? SWEEPS_FOR_MS - since : SWEEPS_EVERY_MS - since + SWEEPS_FOR_MS;
  if (since < SWEEPS_FOR_MS || SWEEPS_EVERY_MS - since < needed) await setTimeout(wait + 1_000);
}

/** Counts the usage of every arm, in bulk and one by one, with one poll and with ten polls per batch. */
export async function countOperations(
  stack: Stack,
  options: {
    readonly bulk: number;
    readonly compared: number;
    readonly only: readonly ArmName[];
    readonly polls: readonly number[];
  },
): Promise<Usage[]> {
  const usages: Usage[] = [];
  for (const arm of arms.filter(({ name }) => options.only.includes(name))) {
    for (const polls of isPolled(arm) ? options.polls : [0]) {
      const bulk = arm.name === "sluice" ? options.bulk : options.compared;
      usages.push(await countOne(stack, arm, "bulk", polls, makeDocuments(MIDDLE, bulk, 11)));
      if (arm.name !== "floor")
        usages.push(await countOne(stack, arm, "one by one", polls, makeDocuments(MIDDLE, ONE_BY_ONE, 12)));
    }
  }
  return usages;
}

function isPolled({ name }: Arm): boolean {
  return name !== "floor" && name !== "tutorial";
}

async function countOne(
  stack: Stack,
  arm: Arm,
  way: Usage["way"],
  polls: number,
  documents: readonly BenchDocument[],
): Promise<Usage> {
  if (arm.name === "sluice") await awayFromSweeps(documents.length);
  await stack.plan(polls <= 1 ? {} : { poll: [{ fault: "pending", polls: polls - 1 }] });
  const isNew = (await stack.countRows(arm.name, arm.table)) === 0;
  await stack.clear(arm.name);
  const before = await stack.size(arm.name);
  await pushAll(stack, arm, way, documents);
  await arm.recorded(stack, documents.length);
  await tickUntil(async () => {
    if (arm.name === "sluice") await pollAsEachMinute(stack);
    else await arm.poll(stack);
    return arm.isDone(stack, documents.length);
  }, 5);
  const counts = await stack.takeCounts(arm.name);
  const after = await stack.size(arm.name);
  const jobs = arm.name === "sluice" ? (await stack.sql("SELECT id FROM jobs")).results.length : 0;
  return {
    arm: arm.name,
    way,
    polls,
    documents: documents.length,
    ...usageOf(counts, documents.length),
    storageBytes: isNew && after > before ? (after - before) / documents.length : null,
    meanJob: jobs === 0 ? null : documents.length / jobs,
  };
}

function usageOf(counts: Counts, documents: number) {
  return {
    rowsWritten: rowsWritten(counts) / documents,
    rowsRead: rowsRead(counts) / documents,
    queueOperations: queueOperations(counts) / documents,
    requests: counts.requests / documents,
    aiCalls: aiCalls(counts) / documents,
  };
}

async function pushAll(stack: Stack, arm: Arm, way: Usage["way"], documents: readonly BenchDocument[]): Promise<void> {
  if (way === "bulk") return arm.push(stack, toBodies(documents, BODY_BYTES));
  const rest = documents.values();
  const pushEach = async () => {
    for (const document of rest) {
      if (arm.name !== "sluice") await arm.push(stack, [`${JSON.stringify(document)}\n`]);
      else await pushOne(stack, document);
    }
  };
  await Promise.all(Array.from({ length: PUSHES_AT_ONCE }, pushEach));
}

export async function pushOne(stack: Stack, document: BenchDocument): Promise<void> {
  const headers = { "content-type": "application/json" };
  await stack.expect(202, "sluice-producer", "/v1/documents", {
    method: "POST",
    body: JSON.stringify(document),
    headers,
  });
}

/** A poller run as in production, a minute after the previous one: open jobs are due again. */
export async function pollAsEachMinute(stack: Stack): Promise<void> {
  await stack.sql("UPDATE jobs SET due_at = 0 WHERE due_at IS NOT NULL");
  await stack.scheduled("sluice-poller");
}

export interface Lookup {
  readonly what: string;
  readonly contexts: number;
  readonly rowsRead: number;
}

/** Rows read for one document's scores, among other documents. */
export async function countLookups(stack: Stack): Promise<Lookup[]> {
  const lookups: Lookup[] = [];
  await stack.plan({});
  for (const contexts of [5, 50]) {
    await stack.clear("sluice");
    const documents = makeDocuments({ name: `${contexts} contexts`, bytes: contexts * 100 + 120, contexts }, 1_000, 13);
    await sluice.push(stack, toBodies(documents, BODY_BYTES));
    await sluice.recorded(stack, documents.length);
    await pollAsEachMinute(stack);
    const id = documents[500]?.id ?? "";
    for (const [what, columns] of [
      ["scores", "context_id, score, rank"],
      ["best", "context_id, score"],
    ] as const) {
      const order = what === "scores" ? " ORDER BY rank" : "";
      const { meta, results } = await stack.sql(
        `SELECT ${columns} FROM ${what} WHERE collection = 'default' AND document_id = ?1${order}`,
        id,
      );
      if (results.length !== (what === "scores" ? contexts : 1))
        throw new Error(`${what} has ${results.length} rows for ${id}`);
      lookups.push({ what: `SELECT … FROM ${what}`, contexts, rowsRead: meta.rows_read });
    }
    await stack.takeCounts("sluice");
    await stack.expect(200, "sluice-producer", `/v1/collections/default/documents/${id}`);
    lookups.push({ what: "GET …/documents/{id}", contexts, rowsRead: rowsRead(await stack.takeCounts("sluice")) });
  }
  return lookups;
}
