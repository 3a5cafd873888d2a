import { err, ok, type Result } from "@sluice/core";
import { describeError } from "./describe-error.ts";
import type { LogEvent } from "./context.ts";

/**
 * Returns the result of `run`. Logs an error under `event` and throws it again without its message and its cause: the
 * platform logs uncaught errors completely, and Drizzle's contain bound values.
 */
export async function runLogged<T>(event: string, log: (event: LogEvent) => void, run: () => Promise<T>): Promise<T> {
  const ended: Result<T, unknown> = await run().then(ok, (error: unknown) => err(error));
  if (ended.ok) return ended.value;
  const description = describeError(ended.error);
  log({ event, ...description });
  throw new Error(description.code === null ? event : `${event}: ${description.code}`);
}
