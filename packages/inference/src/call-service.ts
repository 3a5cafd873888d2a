import { err, type Result } from "@sluice/core";
import type { BatchBinding } from "./binding.ts";
import type { Bounded } from "./bounded.ts";
import { signsOf, type FailureSigns } from "./failure-signs.ts";
import { readAnswer } from "./read-answer.ts";

/**
 * Makes one call to Workers AI. Returns the answer's value, or the signs of why there is none. Reading a streamed
 * answer is part of the call and its time limit. Never rejects.
 */
export async function callService(
  binding: BatchBinding,
  model: string,
  inputs: Record<string, unknown>,
  options: { queueRequest: true } | undefined,
  bounded: Bounded,
): Promise<Result<unknown, FailureSigns>> {
  const stop = new AbortController();
  const call = (async () => {
    const answer = options === undefined ? binding.run(model, inputs) : binding.run(model, inputs, options);
    return readAnswer(await answer, stop.signal);
  })();
  // Handle a later failure of an abandoned call.
  call.catch(() => undefined);
  try {
    return await bounded(call);
  } catch (thrown) {
    stop.abort();
    return err(signsOf(thrown));
  }
}
