import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchAnswer, pollBatch, submitBatch, type AnswerItem } from "../src/index.ts";
import { answering, MODEL, REQUEST_ID, REQUESTS, streamOf, throwing, unbounded } from "./support.ts";

/** No two documents share a score, so each score identifies its document. */
const scoreOf = (document: number, context: number) => document + context / 1000 + 0.0001;

const batch = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 }).map((sizes) =>
  sizes.map((contexts, index) => {
    const scores = Array.from({ length: contexts }, (_, context) => scoreOf(index, context));
    return { reference: `s:${index}`, contexts, scores };
  }),
);
type Sent = { readonly reference: string; readonly contexts: number; readonly scores: number[] };

function itemFor(sent: Sent, index: number, form: { readonly shapeB: boolean; readonly echoed: boolean }): AnswerItem {
  const result = { response: sent.scores.map((score, id) => ({ id, score })).toReversed() };
  const external_reference = form.echoed ? sent.reference : null;
  return form.shapeB
    ? { index, success: true, result, external_reference }
    : { id: index, success: true, result, external_reference };
}

describe("any answer of the service", () => {
  test("gives each document its own scores or none, with items shuffled, repeated and dropped", () => {
    fc.assert(
      fc.property(batch, fc.boolean(), fc.boolean(), fc.infiniteStream(fc.nat()), (sent, shapeB, echoed, random) => {
        const next = () => random.next().value as number;
        const items: { readonly at: number; readonly index: number; readonly item: AnswerItem }[] = [];
        for (const [index, document] of sent.entries()) {
          const item = itemFor(document, index, { shapeB, echoed });
          for (let copies = next() % 3; copies > 0; copies -= 1) items.push({ at: next(), index, item });
        }
        const shuffled = items.toSorted((a, b) => a.at - b.at);
        const matched = matchAnswer(
          shuffled.map(({ item }) => item),
          sent,
        );
        expect(matched).toEqual(
          sent.map(({ scores }, index) =>
            items.some((entry) => entry.index === index)
              ? { kind: "scored", scores }
              : { kind: "unusable", code: "missing_result", message: null },
          ),
        );
      }),
    );
  });

  test("detects items with another's number by their reference", () => {
    fc.assert(
      fc.property(batch, fc.infiniteStream(fc.nat()), (sent, random) => {
        const items = sent.map((document) =>
          itemFor(document, (random.next().value as number) % sent.length, { shapeB: false, echoed: true }),
        );
        for (const [index, answer] of matchAnswer(items, sent).entries()) {
          if (answer.kind === "scored") expect(answer.scores).toEqual(sent[index]?.scores);
        }
      }),
    );
  });

  test("gives a scored document one finite number for each context", () => {
    const score = fc.oneof(fc.double(), fc.constant(null), fc.constant(0.5));
    const entry = fc.record({ id: fc.integer({ min: -1, max: 3 }), score });
    const item = fc.record({
      id: fc.integer({ min: -1, max: 3 }),
      success: fc.boolean(),
      result: fc.record({ response: fc.array(entry, { maxLength: 4 }) }),
    });
    fc.assert(
      fc.property(fc.array(item), fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }), (items, sizes) => {
        const sent = sizes.map((contexts, index) => ({ reference: `s:${index}`, contexts }));
        const matched = matchAnswer(items, sent);
        expect(matched.length).toBe(sent.length);
        for (const [index, answer] of matched.entries()) {
          if (answer.kind !== "scored") continue;
          expect(answer.scores.length).toBe(sizes[index]);
          expect(answer.scores.every(Number.isFinite)).toBe(true);
        }
      }),
    );
  });

  const names =
    "status success result responses results response errors error code message id index score usage request_id " +
    "external_reference internalCode retry_after __proto__";
  const keys = fc.constantFrom(...names.split(" "));
  const words = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "queued",
      "running",
      "failed",
      "expired",
      "3040: busy",
      "<html>",
      "{",
      "[[",
      "error code: 502",
      "retry after 9",
    ),
  );
  const { anything } = fc.letrec((tie) => ({
    anything: fc.oneof(
      { maxDepth: 6 },
      fc.oneof(words, fc.double(), fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie("anything"), { maxLength: 4 }),
      fc.dictionary(keys, tie("anything"), { maxKeys: 5 }),
    ),
  }));

  test("turns an answer of any form into an outcome, never an exception", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(anything, fc.jsonValue()), async (value) => {
        const text = JSON.stringify(value);
        const forms = [
          answering(value),
          answering(text),
          answering(streamOf(text, 64)),
          throwing(value),
          throwing(new Error(text)),
        ];
        for (const binding of forms) {
          const submitted = await submitBatch(binding, MODEL, REQUESTS, unbounded);
          if (submitted.kind === "queued") expect(submitted.requestId.trim()).not.toBe("");
          else expect(submitted.refusal.message.length).toBeGreaterThan(0);
        }
        for (const binding of [
          answering(value),
          answering(new Response(text)),
          throwing(value),
          throwing(new Error(text)),
        ]) {
          const polled = await pollBatch(binding, MODEL, REQUEST_ID, unbounded);
          if (polled.kind === "answered") matchAnswer(polled.items, [{ reference: "s:0", contexts: 1 }]);
          if (polled.kind === "refused") expect(polled.refusal.message.length).toBeLessThanOrEqual(500);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("matches items of any form without an exception", () => {
    fc.assert(
      fc.property(fc.array(fc.dictionary(keys, anything)), (items) => {
        expect(matchAnswer(items, [{ reference: "s:0", contexts: 1 }]).length).toBe(1);
      }),
      { numRuns: 1000 },
    );
  });
});
