import { expect } from "vitest";
import { records, steady, TABLE, testPushed as test } from "./run.ts";

test("retry, cancel, pause and resume report what they did", async ({ bench }) => {
  const printed: string[] = [];
  for (const args of [
    ["retry", "sub_0001", "--code", "model_error"],
    ["pause"],
    ["resume"],
    ["resume"],
    ["cancel", "sub_0001"],
  ]) {
    printed.push(steady((await bench.run([...args, ...TABLE])).stdout));
  }
  expect(printed).toEqual([
    "1 document queued again. Follow it: sluice status -- sub_0001\n",
    expect.stringContaining("everything requested N ago resumed\n"),
    "Resumed everything, paused N ago (requested).\n",
    "Nothing to resume: there was no pause of everything.\n",
    "sub_0001 is already completed. There is nothing to cancel.\n",
  ]);
  bench.api.looks = Infinity;
  await bench.run(["push", "docs.ndjson", "--key", "other", "--no-wait"]);
  expect((await bench.run(["cancel", "sub_0002", ...TABLE])).stdout).toBe("sub_0002 is canceled.\n");
});

test("retry and status show the progress of a large retry", async ({ bench }) => {
  const { submission } = bench.api.submissions.get("sub_0001") ?? expect.fail("no submission");
  const retry = { documents: 40_000, queued: 10_000, since: "2026-01-01T00:00:00.000Z" };
  bench.api.instead.push(() => Response.json({ submission: { ...submission, retry }, queued: 10_000, lost: 0 }));
  const words = "10,000 of 40,000 failed documents queued again, the rest follow within minutes";
  expect((await bench.run(["retry", "sub_0001", ...TABLE])).stdout).toBe(
    `${words}. Follow it: sluice status -- sub_0001\n`,
  );
  bench.api.instead.push(() => Response.json({ ...submission, retry }));
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stdout).toMatch(new RegExp(`retry +${words}`));
});

test("cancel reports failed documents that cannot be retried", async ({ bench }) => {
  const [stored] = bench.api.submissions.values();
  if (stored === undefined) expect.fail("no submission");
  const { counts } = stored.submission;
  stored.submission = { ...stored.submission, status: "canceled", counts: { ...counts, succeeded: 1, failed: 2 } };
  bench.api.instead.push(() => Response.json(stored.submission));
  expect((await bench.run(["cancel", "sub_0001", ...TABLE])).stdout).toBe(
    "sub_0001 is canceled. 2 documents failed and will not be retried.\n",
  );
  for (const id of ["sub_0001", "d3"]) {
    const { stdout } = await bench.run(["why", id, ...TABLE]);
    expect(stdout).toContain("canceled and cannot be retried");
    expect(stdout).not.toContain("sluice retry");
  }
});

test("documents that the Queue lost are not to be listed or retried, but pushed again", async ({ bench }) => {
  const [stored] = bench.api.submissions.values();
  if (stored === undefined) expect.fail("no submission");
  const { counts } = stored.submission;
  stored.submission = {
    ...stored.submission,
    failures: { message_lost: 2, model_error: 1 },
    counts: { ...counts, failed: 3 },
  };
  const lost =
    "2 documents were lost in the Queue and cannot be queued again. Push the same file again to score them.\n";
  const list = "See them:  sluice results --status failed -- sub_0001\n";
  const retry = "Retry:     sluice retry -- sub_0001\n";
  const why = async () => (await bench.run(["why", "sub_0001", ...TABLE])).stdout;
  expect(await why()).toMatch(new RegExp(`: message_lost 2, model_error 1\\.\n${list}${retry}${lost}$`));
  stored.submission = { ...stored.submission, failures: { message_lost: 2 }, counts: { ...counts, failed: 2 } };
  expect(await why()).toMatch(new RegExp(`: message_lost 2\\.\n${lost}$`));
  stored.documents = [];
  for (const flags of [[], ["--status", "failed"]]) {
    expect((await bench.run(["results", "sub_0001", ...flags, ...TABLE])).stdout).toBe(lost);
  }
  expect((await bench.run(["results", "sub_0001", "--status", "canceled", ...TABLE])).stdout).toBe(
    "No documents are canceled.\n",
  );
});

test("retry reports failed documents whose texts expired", async ({ bench }) => {
  const { submission } = bench.api.submissions.get("sub_0001") ?? expect.fail("no submission");
  bench.api.instead.push(() => Response.json({ submission, queued: 0, lost: 0, expired: 2 }));
  expect((await bench.run(["retry", "sub_0001", ...TABLE])).stdout).toBe(
    "2 failed documents cannot be queued again: retention deleted them or their texts. Push the same file again to " +
      "score them.\n",
  );
});

test("retry and cancel report lost documents with the next step", async ({ bench }) => {
  const { submission } = bench.api.submissions.get("sub_0001") ?? expect.fail("no submission");
  const lost = { ...submission, failures: { message_lost: 2 } };
  bench.api.instead.push(() => Response.json({ submission: lost, queued: 0, lost: 2 }));
  const words =
    "2 documents were lost in the Queue and cannot be queued again. Push the same file again to score them.\n";
  expect((await bench.run(["retry", "sub_0001", ...TABLE])).stdout).toBe(words);
  bench.api.instead.push(() => Response.json({ submission: lost, queued: 0, lost: 2 }));
  expect(records((await bench.run(["retry", "sub_0001"])).stdout)).toMatchObject([{ queued: 0, lost: 2 }]);
  bench.api.instead.push(() => Response.json(lost));
  expect((await bench.run(["status", "sub_0001", ...TABLE])).stdout).toContain(
    "lost    2 documents were lost in the Queue. Push the same file again to score them.",
  );
  const canceling = { ...submission, status: "canceling", counts: { ...submission.counts, queued: 2, succeeded: 0 } };
  bench.api.instead.push(() => Response.json(canceling));
  expect((await bench.run(["cancel", "sub_0001", ...TABLE])).stdout).toBe(
    "sub_0001 is canceling. 2 documents have not ended: dispatched documents still finish. 2 in the Queue: canceled on arrival, " +
      "or failed as message_lost if they never arrive.\n",
  );
});
