import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import type { SubmissionId } from "@sluice/core";
import { stagePart } from "../../src/message/sql/stage-parts.ts";
import {
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  open,
  part,
  rows,
  RUN,
  scoresInView,
} from "../../test-support/index.ts";
import { nextRun, runUntilDone } from "../../test-support/drive.ts";
import { context, it } from "../../test-support/pipeline-test.ts";

/** Stages each document as its own part, without any message. */
async function stage(list: ReturnType<typeof documents>): Promise<SubmissionId> {
  const submission = await open(context.db, { total: list.length });
  for (const [number, document] of list.entries()) {
    const { body } = part(submission, number, [document], number);
    await stagePart(context.db, submission, { part: number, body, total: list.length }, NOW);
  }
  return submission;
}

/** Runs the poller every minute for this many minutes. */
async function run(minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) await nextRun(context);
}

describe("staged parts whose messages do not arrive", () => {
  it("wait ten runs for their messages, and then are recorded in few jobs", async () => {
    const list = documents("d", 20);
    const submission = await stage(list);
    await run(9);
    expect(await jobs(env.DB)).toEqual([]);
    await run(6);
    await runUntilDone(context);
    expect((await jobs(env.DB)).map((job) => job.documents.length)).toEqual([9, 9, 2]);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(list));
    expect(await counters(env.DB, submission)).toMatchObject({
      total: 20,
      recorded: 20,
      succeeded: 20,
      completed: true,
    });
    expect(await rows(env.DB, "SELECT * FROM staged_parts")).toEqual([]);
  });

  it("do not wait for an unreadable one", async () => {
    const list = documents("d", 3);
    const submission = await stage(list);
    await env.DB.prepare("UPDATE staged_parts SET body = ? WHERE part = 0").bind('{"v":99}').run();
    context.clock.now += 20 * RUN;
    await run(5);
    await runUntilDone(context);
    expect(await counters(env.DB, submission)).toMatchObject({ total: 3, recorded: 2, succeeded: 2, completed: false });
    expect(await rows(env.DB, "SELECT queue, message_id, body FROM malformed_messages")).toEqual([
      { queue: "staged_parts", message_id: `${submission}/0`, body: '{"v":99}' },
    ]);
    expect(await rows(env.DB, "SELECT * FROM staged_parts")).toEqual([]);
  });

  it("stay staged if a constraint forbids them, and do not delay the parts after them", async () => {
    const refused = await open(context.db, { total: 1 });
    for (const [number, document] of documents("r", 10).entries()) {
      const { body } = part(refused, number, [document], number);
      await stagePart(context.db, refused, { part: number, body, total: 1 }, NOW);
    }
    const good = await stage(documents("d", 3));
    context.clock.now += 20 * RUN;
    await run(5);
    expect(await counters(env.DB, good)).toMatchObject({ total: 3, recorded: 3 });
    expect(await counters(env.DB, refused)).toMatchObject({ total: 1, recorded: 1 });
    expect(await rows(env.DB, "SELECT * FROM malformed_messages")).toEqual([]);
    expect(await rows(env.DB, "SELECT part FROM staged_parts")).toHaveLength(9);
    expect(context.events).toContainEqual({
      event: "recording_refused",
      level: "error",
      constraint: "CHECK submissions_recorded",
      submission: refused,
      part: 9,
    });
    await env.DB.prepare("UPDATE submissions SET total = 10, completed_at = NULL WHERE id = ?").bind(refused).run();
    context.clock.now += 20 * RUN;
    await run(5);
    expect(await counters(env.DB, refused)).toMatchObject({ total: 10, recorded: 10 });
    expect(await rows(env.DB, "SELECT * FROM staged_parts")).toEqual([]);
  });
});
