import { env } from "cloudflare:test";
import { listMembers, type JobMembers } from "../../src/job/members.ts";
import type { JobId, SubmissionId } from "@sluice/core";
import { openDatabase, type Database } from "@sluice/db";
import { beforeEach, expect, it } from "vitest";
import { deleteDocument } from "../../src/document/sql/delete-document.ts";
import { expireTexts, listTexts } from "../../src/document/sql/expire-texts.ts";
import { forgetOldVersions, listOldParts } from "../../src/document/sql/forget-versions.ts";
import { finalizeJobs } from "../../src/score/sql/finalize-jobs.ts";
import { continueRetry } from "../../src/submission/continue-retry.ts";
import { decideAboutTexts } from "../../src/submission/retention-rules.ts";
import { requestRetry } from "../../src/submission/sql/request-retry.ts";
import { rollUpTotals } from "../../src/submission/sql/roll-up-totals.ts";
import { bytes, dispatch, jobId, NOW, open, part, record } from "../../test-support/fixtures.ts";

/*
 * Steps of retention whose reads are older than other Workers' writes: random operations, and steps that were planned
 * several operations earlier. After each, nothing that is needed may be missing.
 */

const IDS = ["a", "b", "c", "d"];
const MOVE = { task: "texts", cursor: "1", isFirst: true, isLast: false } as const;
const ANY_AGE = Number.MAX_SAFE_INTEGER;

let db: Database;
beforeEach(() => {
  db = openDatabase(env.DB);
});

const rows = async (sql: string) => (await env.DB.prepare(sql).all()).results;

/** A generator of numbers in [0, 1) that a seed determines. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

interface Pending {
  readonly job: JobId;
  readonly members: JobMembers;
}

/** What must hold after every operation: each query returns the documents for which it does not. */
const NEEDED = {
  "a document that has not ended lacks its texts": `
    SELECT d.document_id FROM documents d
    LEFT JOIN outcomes o ON (o.collection, o.document_id, o.submission_id) = (d.collection, d.document_id, d.submission_id)
    LEFT JOIN contexts t ON t.id = d.contexts_id
    WHERE o.status IS NULL AND t.texts ->> ('$[' || d.contexts_at || '][0]') IS NOT 'of ' || d.document_id`,
  "an outcome lacks its document": `
    SELECT o.document_id FROM outcomes o LEFT JOIN documents d
      ON (o.collection, o.document_id, o.submission_id) = (d.collection, d.document_id, d.submission_id)
    WHERE d.document_id IS NULL`,
  "a submission miscounts its forgotten documents": `
    SELECT s.id FROM submissions s
    WHERE s.recorded - s.forgotten <> (SELECT count(*) FROM documents d WHERE d.submission_id = s.id)`,
  "an open job lacks a document that it holds": `
    SELECT i.value FROM jobs j CROSS JOIN json_each(j.members) g CROSS JOIN json_each(g.value, '$[1]') i
    WHERE j.due_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM documents d
      WHERE d.document_id = i.value AND d.submission_id = g.value ->> 0)
      AND i.value NOT IN (SELECT name FROM deleted)`,
} as const;

it.each(Array.from({ length: 12 }, (_, seed) => seed + 1))(
  "late steps take nothing that is needed: seed %i",
  async (seed) => {
    const random = numbers(seed);
    const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
    const pending: Pending[] = [];
    const planned: (() => Promise<unknown>)[] = [];
    /** The newest version of each document that succeeded. */
    const scored = new Map<string, string>();
    await env.DB.exec("CREATE TABLE IF NOT EXISTS deleted (name text)");
    await env.DB.exec("DELETE FROM deleted");
    let now = NOW;

    const end = async ({ job, members }: Pending): Promise<void> => {
      const outcomes = listMembers(members).map(({ submission, document }) =>
        random() < 0.5
          ? ({ submission, document, scores: [[0, 0.5]] } as const)
          : ({ submission, document, code: "model_error", message: "no" } as const),
      );
      const finished = { status: "succeeded", outcomes, children: [], tokens: null, error: null } as const;
      await finalizeJobs(db, [{ job: { id: job, dispatchNumber: 1, status: "dispatched" }, end: finished }], now);
    };
    const operations: (() => Promise<unknown>)[] = [
      async () => {
        const ids = IDS.filter(() => random() < 0.7);
        if (ids.length === 0) return;
        const submission = await open(db, { total: ids.length }, now);
        const job = jobId(now);
        const documents = ids.map((id) => ({ id, contexts: [`of ${id}`] }));
        await record(db, job, [[part(submission, 0, documents)]], now);
        pending.push({ job, members: await dispatch(db, job, now) });
      },
      async () => {
        const [next] = pending.splice(Math.floor(random() * pending.length), 1);
        if (next !== undefined) await end(next);
      },
      async () => {
        const failed = await rows("SELECT DISTINCT submission_id AS id FROM outcomes WHERE status = 'failed'");
        const submission = pick(failed)?.["id"] as SubmissionId | undefined;
        if (submission === undefined) return;
        const retry = await requestRetry(db, { submission, code: "", token: String(random()) }, now);
        if (retry === null) return;
        await continueRetry({ db, now: () => now, randomBytes: bytes }, retry, 5);
        for (const { id } of await rows("SELECT id FROM jobs WHERE status = 'pending' AND dispatch_number = 0"))
          pending.push({ job: id as JobId, members: await dispatch(db, id as JobId, now) });
      },
      async () => {
        if (random() < 0.7) return;
        const id = pick(IDS) ?? "";
        await deleteDocument(db, { collection: "default", id }, now);
        await env.DB.prepare("INSERT INTO deleted VALUES (?)").bind(id).run();
        scored.delete(id);
      },
      async () => rollUpTotals(db, now + 1),
      async () => {
        const failedToo = random() < 0.5;
        const { rows: found } = await listTexts(db, 0, ANY_AGE, 50);
        const decided = Object.groupBy(found, (row) => decideAboutTexts(row, ANY_AGE, failedToo));
        const [deleted, rewritten] = [decided.delete ?? [], decided.rewrite ?? []].map((list) =>
          list.map(({ id }) => id),
        );
        const step = { deleted: deleted ?? [], rewritten: rewritten ?? [], before: ANY_AGE, failedToo };
        planned.push(() => expireTexts(db, step, MOVE, now));
      },
      async () => {
        const parts = await listOldParts(db, null, ANY_AGE, 50);
        const limits = { versions: 0, hidden: ANY_AGE, parts: random() < 0.5 ? 0 : ANY_AGE };
        planned.push(() => forgetOldVersions(db, parts, limits, { ...MOVE, task: "history" }, now));
      },
      // Twice, as after an error that hid the commit.
      async () => {
        const [step] = planned.splice(Math.floor(random() * planned.length), 1);
        await step?.();
        if (random() < 0.3) await step?.();
      },
    ];

    for (let count = 0; count < 80; count += 1) {
      now += 1_000;
      await pick(operations)?.();
      for (const [flaw, query] of Object.entries(NEEDED)) expect(await rows(query), flaw).toEqual([]);
      const succeeded = await rows(
        "SELECT document_id AS id, max(submission_id) AS version FROM outcomes WHERE status = 'succeeded' GROUP BY document_id",
      );
      const newest = new Map(succeeded.map(({ id, version }) => [String(id), String(version)]));
      for (const [id, version] of scored)
        expect((newest.get(id) ?? "") >= version, `scores of ${id} are gone`).toBe(true);
      for (const [id, version] of newest) scored.set(id, version);
    }
    await env.DB.exec("DROP TABLE deleted");
  },
);
