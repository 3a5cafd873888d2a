import { env } from "cloudflare:test";
import { beforeEach, describe, expect } from "vitest";
import {
  counters,
  documents,
  expectedScores,
  jobs,
  NOW,
  recordJob,
  rows,
  RUN,
  scoreOf,
  scoresInView,
  shuffled,
  type ServiceItem,
} from "../../test-support/index.ts";
import { nextRun, runPoller, runUntilDone } from "../../test-support/drive.ts";
import { context, it, service } from "../../test-support/pipeline-test.ts";

beforeEach(() => {
  service.order = shuffled;
});

const LIST = documents("d", 6);
const BAD = ["d1", "d4"];
const GOOD = LIST.filter(({ id }) => !BAD.includes(id));
const isBad = ({ query }: { readonly query: string }) =>
  LIST.some((one) => BAD.includes(one.id) && one.query === query);

/** Corrupts the items of the bad documents in every answer, or only in the first `answers`. */
function spoil(how: (item: ServiceItem) => readonly ServiceItem[], answers = Infinity): void {
  service.items = (item, request) => (isBad(request) && service.submits.length <= answers ? how(item) : [item]);
}
const scoresOf = (item: ServiceItem) => (item.result as { response: { id: unknown; score: unknown }[] }).response;
const withScores = (item: ServiceItem, response: unknown): ServiceItem[] => [{ ...item, result: { response } }];

const failed = () =>
  rows(env.DB, "SELECT document_id AS id, code, message, attempts FROM failures ORDER BY document_id");

const kinds: readonly {
  readonly kind: string;
  readonly how: (item: ServiceItem) => readonly ServiceItem[];
  readonly code: string;
  readonly message: string;
}[] = [
  {
    kind: "failed",
    how: ({ result: _, ...item }) => [{ ...item, success: false, error: { message: "the model broke" } }],
    code: "model_error",
    message: "the model broke",
  },
  {
    kind: "missing",
    how: () => [],
    code: "missing_result",
    message: "No answer had a result for the document in any attempt.",
  },
  {
    kind: "another document's by its reference",
    how: (item) => [{ ...item, external_reference: "sub_other:0" }],
    code: "mismatched_result",
    message: "The results under the document's number belonged to another document in every attempt.",
  },
  {
    kind: "without a number",
    how: (item) =>
      withScores(
        item,
        scoresOf(item).map(({ id }) => ({ id, score: Number.NaN })),
      ),
    code: "invalid_result",
    message: "The results did not have one finite number for each context in any attempt.",
  },
  {
    kind: "one score too few",
    how: (item) => withScores(item, scoresOf(item).slice(1)),
    code: "invalid_result",
    message: "The results did not have one finite number for each context in any attempt.",
  },
  {
    kind: "one score too many",
    how: (item) => withScores(item, [...scoresOf(item), { id: 3, score: 0.5 }]),
    code: "invalid_result",
    message: "The results did not have one finite number for each context in any attempt.",
  },
  {
    kind: "present twice with different scores",
    how: (item) => [
      item,
      ...withScores(
        item,
        scoresOf(item).map(({ id }) => ({ id, score: 0.5 })),
      ),
    ],
    code: "invalid_result",
    message: "The results did not have one finite number for each context in any attempt.",
  },
];

describe("an item of an answer", () => {
  it.each(kinds)(
    "that is $kind is requested again alone until its rounds are used up",
    async ({ how, code, message }) => {
      const { submission, job } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
      spoil(how);
      await runPoller(context);
      await nextRun(context);
      expect(await counters(env.DB, submission)).toEqual({
        total: 6,
        recorded: 6,
        succeeded: 4,
        failed: 0,
        canceled: 0,
        completed: false,
      });
      expect(await scoresInView(env.DB)).toEqual(expectedScores(GOOD));
      expect((await jobs(env.DB)).slice(1)).toMatchObject([
        {
          status: "pending",
          parent: job,
          round: 2,
          dispatchNumber: 0,
          documents: BAD,
          dueAt: context.clock.now + RUN / 2,
        },
      ]);

      await runUntilDone(context);
      expect(service.submits.map(({ requests }) => requests.length)).toEqual([6, 2, 2]);
      expect((await jobs(env.DB)).map(({ status, round, documents: ids }) => ({ status, round, ids }))).toEqual([
        { status: "succeeded", round: 1, ids: LIST.map(({ id }) => id) },
        { status: "succeeded", round: 2, ids: BAD },
        { status: "succeeded", round: 3, ids: BAD },
      ]);
      expect(await failed()).toEqual(BAD.map((id) => ({ id, code, message, attempts: 3 })));
      expect(await rows(env.DB, "SELECT DISTINCT attempts FROM outcomes WHERE status = 'succeeded'")).toEqual([
        { attempts: 1 },
      ]);
      expect(await counters(env.DB, submission)).toEqual({
        total: 6,
        recorded: 6,
        succeeded: 4,
        failed: 2,
        canceled: 0,
        completed: true,
      });
    },
  );

  it.each(kinds)("that is $kind once succeeds at the next answer", async ({ how }) => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    spoil(how, 1);
    await runPoller(context);
    await runUntilDone(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 6, failed: 0, completed: true });
    expect(await rows(env.DB, "SELECT document_id AS id FROM outcomes WHERE attempts = 2 ORDER BY id")).toEqual(
      BAD.map((id) => ({ id })),
    );
    expect(service.submits).toHaveLength(2);
  });

  it.each([
    { words: "5006: input is invalid", code: "invalid_input" },
    { words: "3006: input is too large", code: "too_large" },
  ])("that names a fault of the document fails immediately: $code", async ({ words, code }) => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    spoil(({ result: _, ...item }) => [{ ...item, success: false, error: words }]);
    await runPoller(context);
    await nextRun(context);
    expect(await failed()).toEqual(BAD.map((id) => ({ id, code, message: words, attempts: 1 })));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 4, failed: 2, completed: true });
    expect(service.submits).toHaveLength(1);
  });

  it("that is present twice with the same scores is applied once", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    spoil((item) => [item, item]);
    await runPoller(context);
    await nextRun(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 6, completed: true });
  });

  it.each([6, -1, 1.5, "x", null])("with an index that was not sent is dropped: %s", async (index) => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    service.items = (item, request) =>
      request.query === LIST[0]?.query ? [item, { ...item, index, external_reference: null }] : [item];
    await runPoller(context);
    await nextRun(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 6, completed: true });
  });

  it("with the index of another document is dropped", async () => {
    await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    const other = new Map([
      [1, 4],
      [4, 1],
    ]);
    spoil((item) => [{ ...item, index: other.get(Number(item.index)) }], 1);
    await runPoller(context);
    await nextRun(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(GOOD));
    await runUntilDone(context);
    expect(await scoresInView(env.DB)).toEqual(expectedScores(LIST));
  });
});

describe("an answer without any item", () => {
  it("leads to a new dispatch of all documents", async () => {
    const { submission } = await recordJob(context.db, LIST, { now: NOW, dueAt: NOW });
    service.items = (item) => (service.submits.length > 1 ? [item] : []);
    await runPoller(context);
    await runUntilDone(context);
    expect(service.submits.map(({ requests }) => requests.length)).toEqual([6, 6]);
    expect(await counters(env.DB, submission)).toMatchObject({ succeeded: 6, failed: 0, completed: true });
  });
});

describe("equal scores", () => {
  it("rank by the order of the contexts", async () => {
    await recordJob(context.db, documents("d", 1, 5), { now: NOW, dueAt: NOW });
    service.items = (item) =>
      withScores(
        item,
        scoresOf(item).map(({ id }) => ({ id, score: id === 3 ? 0.75 : 0.5 })),
      );
    await runPoller(context);
    await nextRun(context);
    expect((await scoresInView(env.DB))["d0"]).toEqual([
      ["3", 0.75],
      ["0", 0.5],
      ["1", 0.5],
      ["2", 0.5],
      ["4", 0.5],
    ]);
    expect(scoreOf("a", "b")).not.toBe(scoreOf("b", "a"));
  });
});
