import type { Version } from "../checks/state.ts";
import type { Random } from "../random.ts";
import type { Faults } from "./faults.ts";
import { streamOf } from "./forms.ts";
import { scoreOf } from "./score.ts";

export interface SentRequest {
  readonly query: string;
  readonly contexts: readonly { readonly text: string }[];
  readonly external_reference: string;
}

/** A batch that a Worker sends. */
export interface SentBatch {
  readonly requests: readonly SentRequest[];
  /** By D1's clock. */
  readonly sentAt: number;
}

/** One document of a batch: its request, its version, and whether the service always refuses it. */
export interface BatchEntry {
  readonly request: SentRequest;
  readonly version: Version;
  readonly isPoison: boolean;
  /** Whether the service never returns a usable result for it. */
  readonly isUnanswerable: boolean;
}

/** The service's result for a document without scores. */
export interface Unusable {
  readonly version: Version;
  readonly code: string;
}

interface Item {
  readonly index: number;
  readonly success: boolean;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly reference: string | null;
}

export interface BatchAnswer {
  readonly items: number;
  /** The tokens in its usage; `null` if it has none. */
  readonly tokens: number | null;
  /** Returns a new value for each poll, because a stream can be read only once. */
  readonly give: () => unknown;
  readonly unusable: readonly Unusable[];
}

/** Answers a batch. The faults decide which items are missing, repeated or garbled. */
export function answerBatch(
  entries: readonly BatchEntry[],
  random: Random,
  faults: Faults,
  failsInPart: boolean,
): BatchAnswer {
  const references = !faults.strikes("answer_without_references");
  const unusable: Unusable[] = [];
  let items: Item[] = [];
  for (const [index, entry] of entries.entries()) {
    const flaw = itemsFor(entry, index, { random, faults, references, entries }, items);
    if (flaw !== null) unusable.push({ version: entry.version, code: flaw });
  }
  if (faults.strikes("item_extra"))
    items.push(scored(entries[0] as BatchEntry, entries.length + random.int(0, 3), references, random));
  if (faults.strikes("answer_reordered")) items = random.shuffled(items);
  if (failsInPart) items = keepSome(items, entries, unusable, random);
  return { items: items.length, ...formOf(items, random, faults, entries.length, failsInPart), unusable };
}

interface ItemWorld {
  readonly random: Random;
  readonly faults: Faults;
  readonly references: boolean;
  readonly entries: readonly BatchEntry[];
}

/** Adds a document's items. Returns the resulting failure code, or `null` if there are scores. */
function itemsFor(entry: BatchEntry, index: number, world: ItemWorld, items: Item[]): string | null {
  const { random, faults, references, entries } = world;
  const good = scored(entry, index, references, random);
  if (entry.isPoison) {
    faults.count("item_invalid");
    const error = random.pick<unknown>([
      { code: 5006, message: "input does not match" },
      "5004: Invalid data",
      [{ code: 5021, message: "too long" }],
    ]);
    items.push({ index, success: false, error, reference: good.reference });
    return "invalid_input";
  }
  if (faults.strikes("item_missing") || entry.isUnanswerable) {
    if (random.chance(0.3))
      items.push({ index, success: true, reference: good.reference, result: random.pick([null, {}]) });
    return "missing_result";
  }
  if (faults.strikes("item_failed")) {
    const error = random.pick<unknown>([
      "something broke",
      { message: "something broke" },
      [{ code: 3043, message: "inside" }],
      null,
    ]);
    items.push({ index, success: false, error, reference: good.reference });
    return "model_error";
  }
  if (references && faults.strikes("item_mismatched")) {
    const other = random.pick(entries);
    // Another document's whole result, under this document's number.
    if (other !== entry) {
      items.push({ ...scored(other, index, true, random), index });
      return "mismatched_result";
    }
  }
  if (faults.strikes("item_not_finite")) {
    items.push({ ...good, result: { response: garbled(entry, random) } });
    return "invalid_result";
  }
  items.push(good);
  if (faults.strikes("item_conflicting")) {
    const response = entry.request.contexts.map((_, id) => ({ id, score: 2 + id }));
    items.push({ ...good, result: { response } });
    return "invalid_result";
  }
  if (faults.strikes("item_duplicate")) items.push(good);
  return null;
}

function scored({ request }: BatchEntry, index: number, references: boolean, random: Random): Item {
  const scores = request.contexts.map(({ text }, id) => ({ id, score: scoreOf(request.query, text) }));
  const response = random.shuffled(scores);
  const result = random.chance(0.2) ? { result: { response } } : { response };
  return { index, success: true, result, reference: references ? request.external_reference : null };
}

/** Returns scores with one that is not a number, one missing, or one too many. */
export function garbled({ request }: Pick<BatchEntry, "request">, random: Random): unknown[] {
  const scores = request.contexts.map(({ text }, id) => ({ id, score: scoreOf(request.query, text) as unknown }));
  const at = random.int(0, scores.length - 1);
  const one = scores[at] as { id: number; score: unknown };
  switch (random.int(0, 3)) {
    case 0:
      return scores.with(at, { id: one.id, score: random.pick([Number.NaN, Number.POSITIVE_INFINITY, null, "0.5"]) });
    case 1:
      return scores.toSpliced(at, 1);
    case 2:
      return [...scores, { id: scores.length, score: 0.5 }];
    default:
      return [...scores, { id: one.id, score: 3 }];
  }
}

/** Keeps some items of a partly failed batch: at least one, but not all. */
function keepSome(
  items: readonly Item[],
  entries: readonly BatchEntry[],
  unusable: Unusable[],
  random: Random,
): Item[] {
  const cut = random.int(0, entries.length - 1);
  const kept = items.filter((item) => item.index !== cut);
  if (kept.length === 0) return [...items];
  const version = entries[cut]?.version;
  const known = unusable.findIndex((one) => one.version === version);
  if (known >= 0) unusable.splice(known, 1);
  if (version !== undefined) unusable.push({ version, code: "missing_result" });
  return kept;
}

function formOf(
  items: readonly Item[],
  random: Random,
  faults: Faults,
  documents: number,
  failed: boolean,
): Pick<BatchAnswer, "tokens" | "give"> {
  const shapeB = faults.strikes("answer_shape_b");
  const words = random.chance(0.1);
  const list = items.map(({ index, reference, ...item }) => ({
    [shapeB ? "index" : "id"]: words ? String(index) : index,
    ...item,
    ...(reference === null && random.chance(0.5) ? {} : { external_reference: reference }),
  }));
  const total = 10 * documents;
  const usage = { prompt_tokens: total, completion_tokens: 0, total_tokens: total };
  const tokens = shapeB ? null : total;
  const plain = { ...(failed && { status: "failed" }), ...(shapeB ? { results: list } : { responses: list, usage }) };
  const answer = faults.strikes("answer_nested") ? { success: true, result: plain } : plain;
  if (!faults.strikes("answer_stream")) return { tokens, give: () => answer };
  const text = JSON.stringify(answer);
  return { tokens, give: () => streamOf(text) };
}
