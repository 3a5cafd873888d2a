import type { PushResult } from "../../index.ts";
import { Checker } from "../check.ts";
import { explain, placeKey, type FormatName, type Place, type Refusal } from "../formats/index.ts";
import { copyLines, copyValues, reasonOf, type Input } from "../input.ts";
import type { Output } from "../output.ts";
import { readEntries, type PushFlags } from "./push-options.ts";

export type RefusedLine = Place & Refusal;

export interface RefusedLines {
  /** In the file's order. */
  readonly lines: readonly RefusedLine[];
  /** More than `lines` where not all could be found. */
  readonly count: number;
  /** The line of the file that names its columns; `null`: none does. */
  readonly header: number | null;
}

/** What of a file's reading is known after its push. */
interface Read {
  readonly places: readonly Place[];
  readonly refused: readonly RefusedLine[];
  readonly header: number | null;
}

/** Every refused line of a file: those refused here, those that the API tells, and where these are many, the others. */
export async function findRefused(
  pushed: PushResult,
  read: Read,
  input: Input,
  flags: PushFlags,
): Promise<RefusedLines> {
  const found = new Map<string, RefusedLine>();
  for (const line of read.refused) add(found, line);
  for (const { line, detail } of pushed.rejected) {
    const place = read.places[line - 1];
    if (place !== undefined) add(found, { ...place, ...explain(flags.format, place, detail) });
  }
  const count = read.refused.length + pushed.rejectedCount;
  if (found.size < count) await findMore(found, count, input, flags);
  const lines = [...found.values()].toSorted((a, b) => a.first - b.first || (a.index ?? 0) - (b.index ?? 0));
  return { lines, count: Math.max(count, found.size), header: read.header };
}

/** What is found first says why. */
function add(found: Map<string, RefusedLine>, line: RefusedLine): void {
  const key = placeKey(line);
  if (!found.has(key)) found.set(key, line);
}

/** The API tells the first 100 of a request. The others are found by its own rules. */
async function findMore(found: Map<string, RefusedLine>, count: number, input: Input, flags: PushFlags): Promise<void> {
  const checker = new Checker({ model: flags.model, truncateInputs: flags.truncate });
  for await (const entry of readEntries(input, flags)) {
    const checked = checker.check(entry);
    if (checked.ok) continue;
    const { first, last, index } = entry;
    const refusal = entry.kind === "refused" ? entry : explain(flags.format, entry, checked.detail);
    add(found, { first, last, index, detail: refusal.detail, at: refusal.at });
    if (found.size >= count) return;
  }
}

/**
 * Writes refused lines, and refused items of lists, as they are to a file that can be corrected and pushed,
 * behind the row that names the columns if there is one. Gives the file's name, or `null`.
 */
export async function writeRefused(
  out: Output,
  input: Input,
  { lines, header }: RefusedLines,
  format: FormatName,
): Promise<string | null> {
  const path = `${input.name}.rejected.${format === "tsv" ? "tsv" : "ndjson"}`;
  try {
    const whole = format === "tsv" || lines.every(({ first, last, index }) => index === undefined && first === last);
    if (!whole) await copyValues(input, new Set(lines.map(placeKey)), path);
    else await copyLines(input, header === null ? lines : [{ first: header, last: header }, ...lines], path);
    return path;
  } catch (error) {
    // What was pushed is pushed: that is told all the same.
    out.note(`${path} could not be written: ${reasonOf(error)}`);
    return null;
  }
}
