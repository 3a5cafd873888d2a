import { garbled, type SentRequest } from "../world/batch-answer.ts";
import type { Invocation } from "../world/invocation.ts";
import type { Passage } from "../world/ports.ts";
import { refusalOf } from "../world/refusals.ts";
import { scoreOf } from "../world/score.ts";
import { codedError, unclearAnswer, unclearError } from "../world/service-errors.ts";
import type { World } from "../world/world.ts";

/** Runs `AI.run` with one document and answers at once, with the faults of a submit and of an item. */
export function runDirectly(world: World, by: Invocation, model: string, inputs: object): Promise<unknown> {
  const { faults, ports, random } = world;
  let passage: Passage = { fault: null };
  if (faults.strikes("submit_answer_lost")) passage = { fault: "submit_answer_lost", error: unclearError(random) };
  else if (faults.strikes("ai_stall")) passage = { fault: "ai_stall", back: random.int(61_000, 100_000) };
  const { query, contexts } = inputs as Pick<SentRequest, "query" | "contexts">;
  const request = { query, contexts, external_reference: "" };
  return ports.call(by, "run", passage, () => answer(world, by, model, request));
}

function answer(world: World, by: Invocation, model: string, request: SentRequest): unknown {
  const { accounts, faults, random } = world;
  const { dispatch, entries } = accounts.open(by, model, { requests: [request], sentAt: world.databaseNow() });
  const refusal = refusalOf(world, dispatch, entries);
  if (refusal !== null) return refusal();
  if (entries.some((entry) => entry.isPoison)) return codedError(random, 5006, "Invalid input")();
  accounts.pay(entries, dispatch);
  if (entries.some((entry) => entry.isUnanswerable) || faults.strikes("item_missing")) return {};
  if (faults.strikes("item_failed")) return codedError(random, 3043, "inside")();
  if (faults.strikes("submit_without_request_id")) return unclearAnswer(random);
  if (faults.strikes("item_not_finite")) return { response: garbled({ request }, random) };
  return { response: request.contexts.map(({ text }, id) => ({ id, score: scoreOf(request.query, text) })) };
}
