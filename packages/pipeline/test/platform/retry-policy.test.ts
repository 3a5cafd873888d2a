import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { claimDueJobs } from "../../src/job/sql/claim-due-jobs.ts";
import { isTransient, openDatabase, type RetryPolicy } from "@sluice/db";
import { readSubmission } from "../../src/submission/sql/read-submission.ts";
import { startDispatch } from "../../src/job/sql/start-dispatch.ts";
import { claimLimits, dispatch, jobId, NOW, open, part, record, succeed } from "../../test-support/fixtures.ts";

const LOST = "D1_ERROR: Network connection lost.";

/** Three tries without waiting. */
const retryPolicy = (tries = 3): RetryPolicy => ({ tries, bounded: (call) => call(), rest: async () => undefined });

/** A D1 whose calls all fail once, before or after their work. The next try works. */
function failing(when: "before" | "after", message = LOST) {
  let calls = 0;
  let failed = false;
  const withFault = async <T>(work: () => Promise<T>): Promise<T> => {
    calls += 1;
    const fails = !failed;
    failed = fails;
    if (fails && when === "before") throw new Error(message);
    const result = await work();
    if (fails) throw new Error(message);
    return result;
  };
  const statement = (inner: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(inner, {
      get(target, property) {
        if (property === "bind") return (...values: unknown[]) => statement(target.bind(...values));
        if (property === "all") return () => withFault(() => target.all());
        if (property === "raw") return () => withFault(() => target.raw());
        if (property === "inner") return target;
        return Reflect.get(target, property) as unknown;
      },
    });
  const d1 = new Proxy(env.DB, {
    get(target, property) {
      if (property === "prepare") return (sql: string) => statement(target.prepare(sql));
      if (property === "batch") {
        return (statements: (D1PreparedStatement & { inner: D1PreparedStatement })[]) =>
          withFault(() => target.batch(statements.map((one) => one.inner)));
      }
      return Reflect.get(target, property) as unknown;
    },
  });
  return { d1, calls: () => calls };
}

describe.each(["before", "after"] as const)("a D1 whose calls all fail once %s their work", (when) => {
  it("still processes a document to its end, and writes everything once", async () => {
    const db = openDatabase(failing(when).d1, retryPolicy());
    const submission = await open(db, { total: 2 });
    const id = jobId();
    expect(await record(db, id, [[part(submission, 0, [{ id: "a" }, { id: "b" }])]])).toEqual([true]);
    const members = await dispatch(db, id);
    expect(members).toEqual([[submission, ["a", "b"]]]);
    await claimDueJobs(db, claimLimits(NOW), NOW + 60_000);
    await succeed(db, id, members);
    expect(await readSubmission(db, submission)).toMatchObject({
      total: 2,
      recorded: 2,
      succeeded: 2,
      jobs: 1,
      completedAt: NOW,
    });
    const { results } = await env.DB.prepare("SELECT dispatch_number, status, unconfirmed_dispatches FROM jobs").all();
    expect(results).toEqual([{ dispatch_number: 1, status: "succeeded", unconfirmed_dispatches: 0 }]);
    expect((await env.DB.prepare("SELECT id FROM submissions").all()).results).toHaveLength(1);
  });
});

describe("the retry policy", () => {
  it("ends after the maximum tries", async () => {
    const { d1, calls } = failing("before");
    await expect(open(openDatabase(d1, retryPolicy(1)))).rejects.toThrow(LOST);
    expect(calls()).toBe(1);
  });

  it("does not retry permanent errors", async () => {
    const { d1, calls } = failing("before", "D1_ERROR: no such table: nothing: SQLITE_ERROR");
    await expect(open(openDatabase(d1, retryPolicy()))).rejects.toThrow("no such table");
    expect(calls()).toBe(1);
  });

  it("gives a dispatch to one of two Workers even if an error hides its commit", async () => {
    const submission = await open(openDatabase(env.DB), { total: 1 });
    const id = jobId();
    await record(openDatabase(env.DB), id, [[part(submission, 0, [{ id: "a" }])]]);
    const job = { id, dispatchNumber: 0, status: "pending" } as const;
    const mine = await startDispatch(
      openDatabase(failing("after").d1, retryPolicy()),
      job,
      { until: NOW + 1, token: "mine" },
      NOW,
    );
    const theirs = await startDispatch(openDatabase(env.DB), job, { until: NOW + 1, token: "theirs" }, NOW);
    expect([mine?.dispatchNumber, theirs]).toEqual([1, null]);
  });

  it("recognizes transient errors by D1's messages, including inside Drizzle's errors", () => {
    const words = [
      "D1_ERROR: Network connection lost.",
      "D1 DB storage operation exceeded timeout which caused object to be reset.",
      "D1 DB reset because its code was updated.",
      "Cannot resolve D1 DB due to transient issue on remote node.",
      "internal error; reference = abc",
      "D1 DB is overloaded. Requests queued for too long.",
    ];
    for (const message of words) {
      expect(isTransient(new Error(message))).toBe(true);
      expect(isTransient(new Error("Failed query", { cause: new Error(message) }))).toBe(true);
    }
    expect(isTransient(new Error("D1_ERROR: UNIQUE constraint failed"))).toBe(false);
    expect(isTransient("Network connection lost")).toBe(false);
  });
});
