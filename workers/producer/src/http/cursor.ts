import { err, ok, type FieldProblem, type Result } from "@sluice/core";
import type * as z from "zod";
import { fromBase64url, toBase64url } from "./base64url.ts";

const MAX_CURSOR_CHARACTERS = 512;

/** A position in a list, opaque to the caller: JSON in base64url. */
export function writeCursor(position: Readonly<Record<string, string | number>>): string {
  return toBase64url(JSON.stringify(position));
}

/** Reads a cursor of one kind of list; `null` without one: the list starts. */
export function readCursor<Position>(
  cursor: string | undefined,
  schema: z.ZodType<Position>,
): Result<Position | null, FieldProblem[]> {
  if (cursor === undefined) return ok(null);
  let value: unknown = null;
  try {
    if (cursor.length <= MAX_CURSOR_CHARACTERS) value = JSON.parse(fromBase64url(cursor) ?? "null");
  } catch {
    // Refused below, like any other value that is not a cursor.
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  return err([{ pointer: "?cursor", detail: "is not a cursor of this list: pass next_cursor unchanged" }]);
}
