import type { Counts } from "./counts.ts";

/** The one method of the Workers AI binding that is used here. */
export interface AiBinding {
  run(model: string, inputs: Record<string, unknown>, options?: { queueRequest: true }): Promise<unknown>;
}

export function countedAi(ai: AiBinding, counts: () => Counts): AiBinding {
  return {
    run: (model, inputs, options) => {
      const kind = inputs["request_id"] !== undefined ? "polls" : options?.queueRequest === true ? "submits" : "direct";
      counts().ai[kind] += 1;
      return options === undefined ? ai.run(model, inputs) : ai.run(model, inputs, options);
    },
  };
}
