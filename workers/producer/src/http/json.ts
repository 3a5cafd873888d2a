import { err, ok, type Result } from "@sluice/core";

/** Parses JSON text. The reason gives the position, from 1, if the runtime knows it, and quotes no text. */
export function parseJson(text: string): Result<unknown, string> {
  try {
    return ok(JSON.parse(text));
  } catch (error) {
    const position =
      error instanceof Error ? /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(error.message)?.[1] : undefined;
    return err(`is not valid JSON${position === undefined ? "" : ` at character ${Number(position) + 1}`}`);
  }
}
