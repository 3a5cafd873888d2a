import { err, ok, type Result } from "@sluice/core";
import { readMalformedBody, type MalformedKey } from "@sluice/pipeline/message/sql/read-malformed-messages.ts";
import type { ApiContext } from "../context.ts";
import type { ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { parseMalformedId } from "../shapes/malformed.ts";

export interface MalformedInput {
  readonly key: ApiKey;
  readonly id: string;
}

interface QuarantinedMessage {
  readonly key: MalformedKey;
  readonly body: string;
}

/** Quarantined messages may be of any collection. */
export const NEEDS_ALL_COLLECTIONS: Problem = {
  name: "forbidden",
  detail: "The key is limited to some collections, and quarantined messages may be of any.",
};

/** The quarantined message with an id, if the key may see it. */
export async function findMalformed(
  { db }: Pick<ApiContext, "db">,
  { key: apiKey, id }: MalformedInput,
): Promise<Result<QuarantinedMessage, Problem>> {
  if (apiKey.collections !== null) return err(NEEDS_ALL_COLLECTIONS);
  const key = parseMalformedId(id);
  const body = key === null ? null : await readMalformedBody(db, key);
  if (key !== null && body !== null) return ok({ key, body });
  return err({ name: "not-found", detail: "No quarantined message has this id." });
}
