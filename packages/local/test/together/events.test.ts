import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Together } from "./stack.ts";

let together: Together;
beforeAll(async () => {
  together = await Together.start(undefined, [], (worker, configuration) =>
    worker === "local-ai" ? { ...configuration, vars: { ...configuration.vars, SEND_EVENTS: "on" } } : configuration,
  );
}, 60_000);
afterAll(async () => {
  await together.stop();
});
afterEach(async () => {
  await together.plan({});
});

interface Feed {
  readonly data: readonly { readonly submission_id: string }[];
  readonly next_cursor: string;
}

/** Waits for the end of a submission's documents without poller runs. */
async function waitForEnds(submission: string, documents: number): Promise<void> {
  let cursor: string | null = null;
  let ended = 0;
  while (ended < documents) {
    const from = cursor === null ? "" : `&cursor=${cursor}`;
    const { data, next_cursor: next } = (await together.call(`/v1/results?wait=20${from}`)).body as Feed;
    ended += data.filter(({ submission_id: id }) => id === submission).length;
    cursor = next;
  }
}

const documents = (prefix: string) =>
  [1, 2, 3].map((n) => ({ id: `${prefix}-${n}`, query: `query ${n}`, contexts: [`text ${n}`, "another"] }));

async function expectScored(id: string, jobs = 1): Promise<void> {
  expect(await together.submission(id)).toMatchObject({
    status: "completed",
    counts: { total: 3, succeeded: 3 },
    usage: { jobs },
  });
}

it("scores a push without a poller run", async () => {
  const id = await together.push(documents("event"));
  await waitForEnds(id, 3);
  await expectScored(id);
});

it("scores a push when its batch ends, however long that takes", async () => {
  await together.plan({ running_ms: 400 });
  const id = await together.push(documents("late"));
  await waitForEnds(id, 3);
  await expectScored(id);
});

it.each(["repeated", "delayed", "reordered"])("applies an answer once if its event is %s", async (fault) => {
  await together.plan({ events: [{ fault, delay_ms: 200 }] });
  const id = await together.push(documents(fault));
  await waitForEnds(id, 3);
  await expectScored(id);
});

it("finds the end of a batch with a lost event in the next poller runs", async () => {
  await together.plan({ events: [{ fault: "lost" }] });
  const id = await together.push(documents("lost"));
  await together.finish(id);
  await expectScored(id);
});
