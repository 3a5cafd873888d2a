import { serviceError } from "./errors.ts";
import { checkRequest, findModel } from "./inputs.ts";
import { poll } from "./poll.ts";
import type { RunContext } from "./run-context.ts";
import { scoreAtOnce } from "./scoring.ts";
import { submit } from "./submit.ts";

/** The binding's method: submits a batch, polls one, or scores at once, depending on its arguments. */
export async function run(model: unknown, inputs: unknown, options: unknown, context: RunContext): Promise<unknown> {
  const name = findModel(model);
  if (name === null) throw serviceError("5007", `No such model ${String(model)} or task`);
  if (!isRecord(inputs)) throw serviceError("5006", "Error: /: must be an object");
  if (inputs["request_id"] !== undefined) return poll(name, inputs["request_id"], context);
  if (isRecord(options) && options["queueRequest"] === true) return submit(name, inputs["requests"], context);

  const { calls } = context.ledger;
  calls.direct.calls += 1;
  const checked = checkRequest(name, inputs, "");
  if (!checked.ok) throw serviceError("5006", checked.error);
  calls.direct.contexts += checked.value.contexts.length;
  const requests = [checked.value];
  const [scores = []] =
    scoreAtOnce(context.mode, requests) ?? (await context.model.score(JSON.stringify({ requests })));
  return { response: scores.map((score, id) => ({ id, score })) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
