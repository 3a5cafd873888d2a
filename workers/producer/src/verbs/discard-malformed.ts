import { ok, type Result } from "@sluice/core";
import { dropMalformedMessage } from "@sluice/pipeline/message/sql/release-malformed-message.ts";
import type { ApiContext } from "../context.ts";
import type { Problem } from "../http/problems.ts";
import { findMalformed, type MalformedInput } from "./find-malformed.ts";

/** Deletes a quarantined message. */
export async function discardMalformed(
  context: Pick<ApiContext, "db" | "log">,
  input: MalformedInput,
): Promise<Result<null, Problem>> {
  const found = await findMalformed(context, input);
  if (!found.ok) return found;
  const { key } = found.value;
  await dropMalformedMessage(context.db, key);
  context.log({ event: "message_discarded", queue: key.queue, message: key.id });
  return ok(null);
}
