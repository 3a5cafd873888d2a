import { err, ok, type FieldProblem, type Result } from "@sluice/core";
import type * as z from "zod";
import { fromBase64url, toBase64url } from "./base64url.ts";

const MAX_CURSOR_CHARACTERS = 512;

/** Where a list goes on, opaque to its reader: JSON in base64url. */
export function writeCursor(position: Readonly<Record<string, string | number>>): string {
  return toBase64url(JSON.stringify(position));
}

/** Reads a cursor of one kind of list; none is the start, `null`. */
export function readCursor<Position>(
  cursor: string | undefined,
  schema: z.ZodType<Position>,
): Result<Position | null, FieldProblem[]> {
  if (cursor === undefined) return ok(null);
  let value: unknown = null;
  try {
    if (cursor.length <= MAX_CURSOR_CHARACTERS) value = JSON.parse(fromBase64url(cursor) ?? "null");
  } catch {
    // Not one of ours: told below, as any other that does not fit.
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  return err([{ pointer: "?cursor", detail: "is not a cursor of this list: pass next_cursor on as it came" }]);
}
