import type { PushResult } from "../../index.ts";
import { Checker } from "../check.ts";
import { explain, formats, type FormatName, type Place, type Refusal } from "../formats/index.ts";
import { copyLines, readLines, reasonOf, type Input } from "../input.ts";
import type { Output } from "../output.ts";
import type { PushFlags } from "./push-options.ts";

export type RefusedLine = Place & Refusal;

export interface RefusedLines {
  /** In the file's order. */
  readonly lines: readonly RefusedLine[];
  /** More than `lines` where not all could be found. */
  readonly count: number;
}

/** What of a file's reading is known after its push. */
interface Read {
  readonly places: readonly Place[];
  readonly refused: readonly RefusedLine[];
}

/** Every refused line of a file: those refused here, those that the API tells, and where these are many, the others. */
export async function findRefused(
  pushed: PushResult,
  read: Read,
  input: Input,
  flags: PushFlags,
): Promise<RefusedLines> {
  const found = new Map(read.refused.map((line) => [line.first, line]));
  for (const { line, detail } of pushed.rejected) {
    const place = read.places[line - 1];
    if (place !== undefined) found.set(place.first, { ...place, ...explain(flags.format, place, detail) });
  }
  const count = read.refused.length + pushed.rejectedCount;
  if (found.size < count) await findMore(found, count, input, flags);
  return { lines: [...found.values()].toSorted((a, b) => a.first - b.first), count: Math.max(count, found.size) };
}

/** The API tells the first 100 of a request. The others are found by its own rules. */
async function findMore(found: Map<number, RefusedLine>, count: number, input: Input, flags: PushFlags): Promise<void> {
  const checker = new Checker({ model: flags.model, truncateInputs: flags.truncate });
  for await (const entry of formats[flags.format](readLines(input))) {
    const checked = checker.check(entry);
    if (checked.ok || found.has(entry.first)) continue;
    const { first, last } = entry;
    const refusal = entry.kind === "refused" ? entry : explain(flags.format, entry, checked.detail);
    found.set(first, { first, last, detail: refusal.detail, at: refusal.at });
    if (found.size >= count) return;
  }
}

/** Writes refused lines as they stand to a file that can be mended and pushed; gives its name, or `null`. */
export async function writeRefused(
  out: Output,
  input: Input,
  { lines }: RefusedLines,
  format: FormatName,
): Promise<string | null> {
  const path = `${input.name}.rejected.${format === "tsv" ? "tsv" : "ndjson"}`;
  try {
    await copyLines(input, lines, path);
    return path;
  } catch (error) {
    // What was pushed is pushed: that is told all the same.
    out.note(`${path} could not be written: ${reasonOf(error)}`);
    return null;
  }
}
