import { afterAll, beforeAll, expect, it } from "vitest";
import { Together } from "./stack.ts";

/** So small that some dozens of documents fill it. */
const LIMIT_BYTES = 4_000_000;
const TEXT_BYTES = 50_000;
/** Pushes at once, so that the Queue still has messages when the database is full. */
const AT_ONCE = 10;
const MAX_PUSHES = 200;
const MODEL = "@cf/baai/bge-m3";

let together: Together;
beforeAll(async () => {
  together = await Together.start(undefined, [], (worker, configuration) =>
    worker === "poller"
      ? { ...configuration, vars: { ...configuration.vars, MAX_DATABASE_BYTES: String(LIMIT_BYTES) } }
      : configuration,
  );
}, 60_000);
afterAll(async () => {
  await together.stop();
});

const idsOf = (push: number) => [`d${push}-0`, `d${push}-1`];

/** Pushes two documents. Returns the submission, or the refusal. */
async function push(number: number): Promise<{ submission: string } | { status: number; type: string }> {
  const documents = idsOf(number).map((id) => ({ id, query: id, contexts: [`${id} `.repeat(TEXT_BYTES / 6)] }));
  const { status, body } = await together.call("/v1/documents", {
    method: "POST",
    body: JSON.stringify({ documents }),
    headers: { "content-type": "application/json" },
  });
  if (status !== 202) return { status, type: (body as { type: string }).type };
  return { submission: (body as { submission: { id: string } }).submission.id };
}

/** A message with one document, in the producer's own form. */
function messageOf(submission: string): string {
  const document = { place: 0, id: "waiting", bytes: 100, query: "q", contexts: ["a"] };
  const header = { v: 1, kind: "part", submission, collection: "default", model: MODEL, lane: "interactive" };
  return JSON.stringify({ ...header, truncate_inputs: true, part: 0, hash: "0", documents: [document] });
}

const level = async () => {
  const { body } = await together.call("/v1/stats");
  return (body as { database: { level: string } | null }).database?.level ?? "normal";
};

it("a full database refuses pushes, keeps accepted documents waiting, and takes both once it has room", async () => {
  // The second run records the size that the first one found.
  for (let run = 0; run < 2; run += 1) await together.poll();
  const accepted = new Map<string, number>();
  const refusals: unknown[] = [];
  for (let first = 0; refusals.length === 0; first += AT_ONCE) {
    expect(first).toBeLessThan(MAX_PUSHES);
    const numbers = Array.from({ length: AT_ONCE }, (_, index) => first + index);
    const answers = await Promise.all(numbers.map(push));
    for (const [index, answer] of answers.entries())
      if ("submission" in answer) accepted.set(answer.submission, first + index);
      else refusals.push(answer);
    await together.poll();
  }
  for (const refusal of refusals) expect(refusal).toEqual({ status: 503, type: "/problems/database-full" });
  await together.runUntil(level, (now) => now === "full");
  const { status, body } = await together.call("/readyz");
  expect([status, (body as { detail: string }).detail]).toEqual([
    503,
    expect.stringMatching(/^The database is full: /),
  ]);
  expect(await push(MAX_PUSHES)).toEqual({ status: 503, type: "/problems/database-full" });

  // A message that arrives now waits: the marker after it is consumed, and it is not recorded.
  const [waiting] = await together.sql<{ id: string }>(
    `INSERT INTO submissions (id, collection, model, lane, truncate_inputs, total, created_at, active_at, closed_at)
     VALUES ('sub_ffffffff-ffff-7000-8000-000000000000', 'default', ?, 'interactive', 1, 1, 1, 1, 1) RETURNING id`,
    MODEL,
  );
  if (waiting === undefined) throw new Error("there is no submission");
  await together.feed("sluice-interactive", messageOf(waiting.id));
  await together.feed("sluice-interactive", "this marks the end");
  const quarantined = () => together.sql("SELECT reason FROM malformed_messages");
  await together.runUntil(quarantined, (rows) => rows.length === 1);
  expect(await together.submission(waiting.id)).toMatchObject({ status: "queued", counts: { total: 1, queued: 1 } });

  // Deleting makes room for what waits, and that may fill the database again.
  const open = new Set(accepted.keys());
  for (let run = 0; open.size > 0; run += 1) {
    expect(run).toBeLessThan(2_000);
    for (const submission of open) {
      const { status: state, counts } = await together.submission(submission);
      if (state !== "completed") continue;
      expect(counts).toMatchObject({ total: 2, succeeded: 2 });
      open.delete(submission);
      for (const id of idsOf(accepted.get(submission) ?? -1)) {
        const deleted = await together.call(`/v1/collections/default/documents/${id}`, { method: "DELETE" });
        expect(deleted).toMatchObject({ status: 200, body: { deleted: 1 } });
      }
    }
    await together.poll();
  }
  expect(await together.finish(waiting.id)).toMatchObject({ counts: { total: 1, succeeded: 1 } });
  await together.runUntil(level, (now) => now !== "full");
  expect((await together.call("/readyz")).status).toBe(200);
  const again = await push(MAX_PUSHES + 1);
  if (!("submission" in again)) throw new Error(`the push was answered with ${again.status}`);
  expect(await together.finish(again.submission)).toMatchObject({ counts: { total: 2, succeeded: 2 } });
  // Nothing but the marker.
  expect(await quarantined()).toEqual([{ reason: "the body is not JSON" }]);
}, 120_000);
