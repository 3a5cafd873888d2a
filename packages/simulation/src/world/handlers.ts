import type { Handler } from "@sluice/producer/src/context.ts";
import { routes } from "@sluice/producer/src/routes.ts";

/** Returns the producer's handler for an operation. It runs after the key check. */
export function handlerOf(operation: string): Handler {
  const route = routes.find(({ id }) => id === operation);
  if (route === undefined) throw new Error(`the API has no operation ${operation}`);
  return route.handle;
}
