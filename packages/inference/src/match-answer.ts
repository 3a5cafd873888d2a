import type { FailureCode } from "@sluice/core";
import { classOfCode } from "./failure-classes.ts";
import { signsOf } from "./failure-signs.ts";
import type { AnswerItem } from "./poll-batch.ts";
import { MAX_NESTING, isRecord, toIndex } from "./values.ts";

/** A document as it was sent: its index in the batch, its external reference and its number of contexts. */
export interface ExpectedAnswer {
  readonly reference: string;
  readonly contexts: number;
}

/** The result of one document in an answer. */
export type MatchedAnswer =
  | {
      readonly kind: "scored";
      /** `scores[i]` belongs to context `i`; all are finite. */
      readonly scores: readonly number[];
    }
  | {
      readonly kind: "unusable";
      readonly code: FailureCode;
      /** The service's own message, at most 500 characters; never logged. */
      readonly message: string | null;
    };

const unusable = (code: FailureCode, message: string | null = null): MatchedAnswer => ({
  kind: "unusable",
  code,
  message,
});
const MISSING = unusable("missing_result");
const MISMATCHED = unusable("mismatched_result");
const INVALID = unusable("invalid_result");

/**
 * Matches the items of an answer to the documents sent: each gets its own scores, or the reason it has none. The result
 * is parallel to `expected`. Items are identified by their index alone, never by their position; the external reference
 * can only rule out a match. Items with an unknown index are ignored.
 */
export function matchAnswer(items: readonly AnswerItem[], expected: readonly ExpectedAnswer[]): MatchedAnswer[] {
  const matched = expected.map(() => MISSING);
  const seen = new Uint8Array(expected.length);
  for (const item of items) {
    const index = itemIndex(item);
    const document = expected[index];
    const earlier = matched[index];
    if (document === undefined || earlier === undefined) continue;
    const judged = judge(item, document);
    matched[index] = seen[index] === 1 ? reconcile(earlier, judged) : judged;
    seen[index] = 1;
  }
  return matched;
}

/** Shape A numbers items by `id`, shape B by `index`. An item with two different numbers matches nothing. */
function itemIndex(item: AnswerItem): number {
  const id = toIndex(item["id"]);
  const index = toIndex(item["index"]);
  if (id === -1 || id === index) return index;
  return index === -1 ? id : -1;
}

function judge(item: AnswerItem, document: ExpectedAnswer): MatchedAnswer {
  const reference = item["external_reference"];
  if (reference !== undefined && reference !== null && reference !== document.reference) return MISMATCHED;
  if (item["success"] === false) return itemFailure(item);
  const response = responseOf(item["result"]);
  if (response === undefined || response === null) return hasError(item) ? itemFailure(item) : MISSING;
  const scores = readScores(response, document.contexts);
  return scores === null ? INVALID : { kind: "scored", scores };
}

/** Merges two items with one index. An item of another document says nothing about this one. */
function reconcile(earlier: MatchedAnswer, later: MatchedAnswer): MatchedAnswer {
  if (later === MISMATCHED) return earlier;
  if (earlier === MISMATCHED || isSame(earlier, later)) return later;
  return INVALID;
}

function isSame(a: MatchedAnswer, b: MatchedAnswer): boolean {
  if (a.kind === "scored") return b.kind === "scored" && a.scores.every((score, index) => score === b.scores[index]);
  return b.kind === "unusable" && a.code === b.code && a.message === b.message;
}

function hasError(item: AnswerItem): boolean {
  return (item["error"] ?? item["errors"] ?? null) !== null;
}

/** The form of an item's error is undocumented: a string, `{ message }`, or a list of those. */
function itemFailure(item: AnswerItem): MatchedAnswer {
  const signs = signsOf({
    error: item["error"],
    errors: item["errors"],
    message: item["message"],
    result: item["result"],
  });
  const failureClass = classOfCode(signs.code);
  const message = signs.message === "" ? null : signs.message;
  if (failureClass === "invalid") return unusable("invalid_input", message);
  return unusable(failureClass === "shrink" ? "too_large" : "model_error", message);
}

/** `result.response`, or the same under further `result`s. */
function responseOf(result: unknown): unknown {
  let value = result;
  for (let depth = 0; depth <= MAX_NESTING; depth += 1) {
    if (!isRecord(value)) return value;
    if (value["response"] !== undefined) return value["response"];
    value = value["result"];
  }
  return undefined;
}

/**
 * Turns `[{ id, score }]` in any order into scores by context; `null` unless each context has exactly one finite
 * number.
 */
function readScores(response: unknown, contexts: number): number[] | null {
  if (!Array.isArray(response)) return null;
  const scores = Array.from<number>({ length: contexts }).fill(Number.NaN);
  let found = 0;
  for (const entry of response as readonly unknown[]) {
    if (!isRecord(entry)) return null;
    const score = entry["score"];
    const earlier = scores[toIndex(entry["id"])];
    if (earlier === undefined || typeof score !== "number" || !Number.isFinite(score)) return null;
    if (Number.isNaN(earlier)) {
      scores[toIndex(entry["id"])] = score;
      found += 1;
    } else if (earlier !== score) {
      return null;
    }
  }
  return found === contexts ? scores : null;
}
