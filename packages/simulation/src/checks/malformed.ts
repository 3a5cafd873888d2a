import type { Caller } from "../world/caller.ts";
import type { Change } from "./changes.ts";

/**
 * Returns the flaw in a change of the quarantined messages, or `null`. A message may be deleted only after a queue has
 * it again.
 */
export function forgottenFlaw(event: Change[1], change: Change, { name, handedOver }: Caller): string | null {
  const [, , queue, id, body] = change;
  if (event !== "delete" || handedOver.has(body)) return null;
  return `${name} deleted the quarantined message ${id} of ${queue}, but no queue has it`;
}
