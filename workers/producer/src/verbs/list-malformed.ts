import { err, ok, type Result } from "@sluice/core";
import { listMalformedMessages } from "@sluice/pipeline/message/sql/read-malformed-messages.ts";
import * as z from "zod";
import type { ApiContext } from "../context.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import type { ApiKey } from "../http/keys.ts";
import { invalid, type Problem } from "../http/problems.ts";
import { cursorParameter, DEFAULT_LIMIT, limitParameter } from "../http/query.ts";
import { malformedShape, type MalformedShape } from "../shapes/malformed.ts";
import type { Page } from "../shapes/page.ts";
import { NEEDS_ALL_COLLECTIONS } from "./find-malformed.ts";

export const malformedQuery = z.strictObject({ limit: limitParameter.optional(), cursor: cursorParameter });

interface Input {
  readonly key: ApiKey;
  readonly query: z.output<typeof malformedQuery>;
}

const cursorSchema = z.strictObject({ queue: z.string(), id: z.string() });

/** Quarantined messages by queue, without their text. */
export async function listMalformed(
  { db }: Pick<ApiContext, "db">,
  { key, query }: Input,
): Promise<Result<Page<MalformedShape>, Problem>> {
  const cursor = readCursor(query.cursor, cursorSchema);
  if (!cursor.ok) return err(invalid(cursor.error));
  if (key.collections !== null) return err(NEEDS_ALL_COLLECTIONS);
  const { limit = DEFAULT_LIMIT } = query;
  const rows = await listMalformedMessages(db, cursor.value, limit);
  const last = rows.at(-1);
  const next = rows.length < limit || last === undefined ? null : writeCursor({ queue: last.queue, id: last.id });
  return ok({ data: rows.map(malformedShape), next_cursor: next });
}
