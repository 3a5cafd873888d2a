import type { PushResult } from "../../index.ts";
import { Checker } from "../check.ts";
import { explain, locationKey, type FormatName, type Location, type Refusal } from "../formats/index.ts";
import { copyLines, copyValues, reasonOf, type Input } from "../input.ts";
import type { Output } from "../output.ts";
import { readEntries, type PushFlags } from "./push-options.ts";

export type RefusedLine = Location & Refusal;

export interface RefusedLines {
  /** In file order. */
  readonly lines: readonly RefusedLine[];
  /** Larger than `lines.length` if some could not be located. */
  readonly count: number;
  /** The header line of the file, or `null` if it has none. */
  readonly header: number | null;
}

/** The state of a file after its push. */
interface Read {
  readonly locations: readonly Location[];
  readonly refused: readonly RefusedLine[];
  readonly header: number | null;
}

/**
 * Collects every refused line of a file: those refused locally, those the API lists, and, if there are more, the rest
 * found by checking the file again.
 */
export async function findRefused(
  pushed: PushResult,
  read: Read,
  input: Input,
  flags: PushFlags,
): Promise<RefusedLines> {
  const found = new Map<string, RefusedLine>();
  for (const line of read.refused) add(found, line);
  for (const { line, detail } of pushed.rejected) {
    const location = read.locations[line - 1];
    if (location !== undefined) add(found, { ...location, ...explain(flags.format, location, detail) });
  }
  const count = read.refused.length + pushed.rejectedCount;
  if (found.size < count) await findMore(found, count, input, flags);
  const lines = [...found.values()].toSorted((a, b) => a.first - b.first || (a.index ?? 0) - (b.index ?? 0));
  return { lines, count: Math.max(count, found.size), header: read.header };
}

/** The first reason found for a line wins. */
function add(found: Map<string, RefusedLine>, line: RefusedLine): void {
  const key = locationKey(line);
  if (!found.has(key)) found.set(key, line);
}

/** The API lists the first 100 refused lines of a request. The others are found with its rules. */
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
 * Writes refused lines and list items unchanged to a file that the user can correct and push, after the header row if
 * there is one. Returns the file name, or `null`.
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
    if (!whole) await copyValues(input, new Set(lines.map(locationKey)), path);
    else await copyLines(input, header === null ? lines : [{ first: header, last: header }, ...lines], path);
    return path;
  } catch (error) {
    // The push itself is complete, so the command still reports it.
    out.note(`${path} cannot be written: ${reasonOf(error)}`);
    return null;
  }
}
