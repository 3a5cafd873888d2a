import { fractionOf } from "./hash.ts";
import type { ScoringRequest } from "./inputs.ts";
import { isAnswerFault, type AnswerFault, type ItemFault, type Plan, type PollRule, type SubmitRule } from "./plan.ts";

/** Decides which faults apply, from the plan, its seed and the numbers of the call. No state and no clock. */

function strikesByChance(seed: Plan["seed"], probability: number | undefined, draw: string): boolean {
  return probability === undefined || fractionOf(`${seed}:${draw}`) < probability;
}

function names(numbers: readonly number[] | undefined, number: number): boolean {
  return numbers === undefined || numbers.includes(number);
}

function holds(requests: readonly ScoringRequest[], text: string): boolean {
  return requests.some(
    ({ query, contexts }) => query.includes(text) || contexts.some((context) => context.text.includes(text)),
  );
}

/** The rule that applies to submit call number `call`, or `null`. */
export function decideSubmit(plan: Plan, call: number, requests: readonly ScoringRequest[]): SubmitRule | null {
  const struck = plan.submit.find(
    (rule, index) =>
      names(rule.at, call) &&
      (rule.over_requests === undefined || requests.length > rule.over_requests) &&
      strikesByChance(plan.seed, rule.probability, `submit:${index}:${call}`) &&
      (rule.match === undefined || holds(requests, rule.match)),
  );
  return struck ?? null;
}

interface PollNumbers {
  /** The number of the poll among all polls. */
  readonly call: number;
  /** The number of the batch, in order of acceptance. */
  readonly batch: number;
  /** The number of this poll among those of its batch. */
  readonly pollOfBatch: number;
}

interface PollFaults {
  /** Why the poll has no answer, or `null`. */
  readonly silent: PollRule | null;
  /** The faults that change the answer. */
  readonly answer: ReadonlySet<AnswerFault>;
}

/** Faults that last for a batch: drawn once per batch, not for every poll. */
const LASTING: ReadonlySet<PollRule["fault"]> = new Set(["stuck", "forgotten", "failed"]);

export function decidePoll(plan: Plan, numbers: PollNumbers): PollFaults {
  let silent: PollRule | null = null;
  const answer = new Set<AnswerFault>();
  for (const [index, rule] of plan.poll.entries()) {
    const draw = LASTING.has(rule.fault) ? `batch:${numbers.batch}` : `call:${numbers.call}`;
    const strikes =
      names(rule.at, numbers.call) &&
      names(rule.batches, numbers.batch) &&
      (rule.polls === undefined || numbers.pollOfBatch <= rule.polls) &&
      strikesByChance(plan.seed, rule.probability, `poll:${index}:${draw}`);
    if (!strikes) continue;
    if (isAnswerFault(rule.fault)) answer.add(rule.fault);
    else silent ??= rule;
  }
  return { silent, answer };
}

/** The fault that applies to a batch at every poll, or `null`. Rules for single polls are ignored. */
export function lastingFault(plan: Plan, batch: number): PollRule["fault"] | null {
  const rule = plan.poll.find(
    ({ fault, at, polls, batches, probability }, index) =>
      LASTING.has(fault) &&
      at === undefined &&
      polls === undefined &&
      names(batches, batch) &&
      strikesByChance(plan.seed, probability, `poll:${index}:batch:${batch}`),
  );
  return rule?.fault ?? null;
}

/** A fault of the item at this index of its batch. */
export type StruckItem = readonly [index: number, fault: ItemFault];

/**
 * Decides the item faults of batch number `batch`. `strikes` counts how often each rule applied to each query, and is
 * updated.
 */
export function decideItems(
  plan: Plan,
  batch: number,
  requests: readonly ScoringRequest[],
  strikes: Map<string, number>,
): StruckItem[] {
  const struck: StruckItem[] = [];
  for (const [ruleIndex, rule] of plan.items.entries()) {
    for (const [index, { query }] of requests.entries()) {
      if (rule.match !== undefined && !query.includes(rule.match)) continue;
      if (!strikesByChance(plan.seed, rule.probability, `items:${ruleIndex}:${batch}:${index}`)) continue;
      const key = `${ruleIndex}:${query}`;
      const before = strikes.get(key) ?? 0;
      if (rule.times !== undefined && before >= rule.times) continue;
      strikes.set(key, before + 1);
      struck.push([index, rule.fault]);
    }
  }
  return struck;
}
