import type { Caller } from "../world/caller.ts";
import type { Change } from "./changes.ts";

/** What is wrong with a change of the quarantined messages, or `null`: one is forgotten once a queue has it again. */
export function forgottenFlaw(event: Change[1], change: Change, { name, handedOver }: Caller): string | null {
  const [, , queue, id, body] = change;
  if (event !== "delete" || handedOver.has(body)) return null;
  return `${name} forgets the quarantined message ${id} of ${queue}, and no queue has it`;
}
