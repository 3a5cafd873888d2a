import type { Handler } from "@sluice/producer/src/context.ts";
import { routes } from "@sluice/producer/src/routes.ts";

/** What the producer does with a request of an operation, behind the check of its key. */
export function handlerOf(operation: string): Handler {
  const route = routes.find(({ id }) => id === operation);
  if (route === undefined) throw new Error(`the API has no operation ${operation}`);
  return route.handle;
}
