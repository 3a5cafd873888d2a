/**
 * The one method of Workers AI that Sluice needs. The platform's types cannot poll a known model with `{ request_id }`
 * and promise more about answers than the service keeps, so an answer is `unknown` here and parsed by its reader.
 */
export interface BatchBinding {
  run(model: string, inputs: Record<string, unknown>, options?: { queueRequest: true }): Promise<unknown>;
}

/**
 * Casts the Worker's `AI` binding: the platform's `Ai`, or a service binding to an entrypoint with the same method.
 * This is the only cast of either. Throws if the binding is missing, which is a configuration error.
 */
export function asBatchBinding(ai: unknown): BatchBinding {
  if ((typeof ai !== "object" && typeof ai !== "function") || ai === null) {
    throw new TypeError(
      "The binding AI is missing: bind Workers AI, or the local stand-in, as AI in the Worker's configuration.",
    );
  }
  return ai as BatchBinding;
}
