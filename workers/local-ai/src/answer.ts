import type { Batch } from "./batches.ts";
import { hash32, shuffledIndexes } from "./hash.ts";
import type { AnswerFault, ItemFault } from "./plan.ts";

interface Score {
  readonly id: number;
  readonly score?: unknown;
}
interface Item {
  readonly id: number;
  readonly result?: unknown;
  readonly success: boolean;
  readonly error?: unknown;
  readonly external_reference?: string | null;
}

/** Rotates the contexts by some number: like the items, they come in no reliable order. */
function scoreList(scores: readonly number[], start: number): Score[] {
  const list: Score[] = [];
  for (let i = 0; i < scores.length; i += 1) {
    const id = (start + i) % scores.length;
    list.push({ id, score: scores[id] });
  }
  return list;
}

function failedItem(item: Item, error: unknown): Item {
  return { id: item.id, success: false, error, external_reference: item.external_reference ?? null };
}

function withFirstScore(item: Item, scores: readonly Score[], change: (first: Score) => Score[]): Item {
  const response = scores.flatMap((score) => (score.id === 0 ? change(score) : [score]));
  return { ...item, result: { response } };
}

/** The items that replace `item`. `scores` are its scores, `count` is the number of requests in its batch. */
function strike(item: Item, fault: ItemFault, scores: readonly Score[], count: number): Item[] {
  switch (fault) {
    case "missing":
      return [];
    case "duplicated":
      return [item, item];
    case "extra":
      return [item, { ...item, id: count + item.id }];
    case "failed_text":
      return [failedItem(item, "the model gave no result")];
    case "failed_object":
      return [failedItem(item, { message: "the model gave no result" })];
    case "failed_list":
      return [failedItem(item, [{ code: 3040, message: "the model gave no result" }])];
    case "mismatched":
      return [{ ...item, external_reference: `other:${item.external_reference ?? ""}` }];
    case "score_nan":
      return [withFirstScore(item, scores, ({ id }) => [{ id, score: Number.NaN }])];
    case "score_null":
      return [withFirstScore(item, scores, ({ id }) => [{ id, score: null }])];
    case "score_text":
      return [withFirstScore(item, scores, ({ id, score }) => [{ id, score: String(score) }])];
    case "score_absent":
      return [withFirstScore(item, scores, ({ id }) => [{ id }])];
    case "score_missing":
      return [withFirstScore(item, scores, () => [])];
    case "no_result":
      return [{ ...item, result: null }];
    case "nested":
      return [{ ...item, result: { result: item.result } }];
  }
}

function orderItems(count: number, requestId: string, faults: ReadonlySet<AnswerFault>): number[] {
  if (!faults.has("in_order") && !faults.has("reversed")) return shuffledIndexes(count, requestId);
  const order = Array.from({ length: count }, (_, index) => index);
  return faults.has("reversed") ? order.toReversed() : order;
}

/** The items of the answer, in the same order for every poll of the batch. */
function listItems(
  requestId: string,
  batch: Batch,
  scores: readonly (readonly number[])[],
  faults: ReadonlySet<AnswerFault>,
): Item[] {
  const start = hash32(requestId);
  const struck = Map.groupBy(batch.struck, ([index]) => index);
  const items: Item[] = [];
  for (const id of orderItems(scores.length, requestId, faults)) {
    const response = scoreList(scores[id] ?? [], start);
    const item: Item = {
      id,
      result: { response },
      success: true,
      external_reference: batch.references[id] ?? null,
    };
    const faultsOfItem = struck.get(id) ?? [];
    const replaced = faultsOfItem.reduce<Item[]>(
      (list, [, fault]) => list.flatMap((one) => strike(one, fault, response, scores.length)),
      [item],
    );
    items.push(...replaced);
  }
  return items;
}

function withoutReferences(items: readonly Item[], faults: ReadonlySet<AnswerFault>): readonly Item[] {
  if (faults.has("references_null")) return items.map((item) => ({ ...item, external_reference: null }));
  if (faults.has("references_absent")) {
    return items.map(({ id, success, result, error }) => (success ? { id, success, result } : { id, success, error }));
  }
  return items;
}

/** The answer to a poll of a finished batch: shape A of the Batch API, or a variant made by faults. */
export function buildAnswer(
  requestId: string,
  batch: Batch,
  scores: readonly (readonly number[])[],
  faults: ReadonlySet<AnswerFault>,
): unknown {
  const items = withoutReferences(listItems(requestId, batch, scores, faults), faults);
  const usage = { prompt_tokens: batch.tokens, completion_tokens: 0, total_tokens: batch.tokens };
  const withUsage = faults.has("no_usage") ? {} : { usage };
  let answer: unknown = { responses: items, ...withUsage };
  if (faults.has("shape_b") || faults.has("shape_b_nested")) {
    const results = { results: items.map(({ id, ...item }) => ({ index: id, ...item })), ...withUsage };
    answer = faults.has("shape_b_nested") ? { result: results } : results;
  }
  if (faults.has("nested")) answer = { result: answer };
  return faults.has("stream") ? byteStream(answer) : answer;
}

/** The binding's result for a body whose content type is not exactly `application/json`. */
export function byteStream(value: unknown): ReadableStream | null {
  return new Response(JSON.stringify(value)).body;
}
