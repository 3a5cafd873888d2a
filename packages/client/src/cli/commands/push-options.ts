import type { Lane } from "../../types.ts";
import { formats, type Entry, type FormatName, type Header } from "../formats/index.ts";
import { readLines, type Input } from "../input.ts";

/** Retries of a push. Their doubling delays add up to 30 to 60 s, enough for a server restart. */
export const PUSH_RETRIES = 7;

/** The options of `push`. */
export interface PushFlags {
  readonly collection?: string;
  readonly model?: string;
  readonly lane?: Lane;
  readonly label?: string;
  readonly truncate: boolean;
  readonly format: FormatName;
  /** Whether the first row of `tsv` is a header. */
  readonly header?: "yes" | "no";
  readonly key?: string;
  readonly gzip?: boolean;
  readonly estimate?: boolean;
  readonly maxUsd?: number;
  readonly wait: boolean;
}

/** Reads a file in the format given to `push`. Calls `onHeader` with the header row, if there is one. */
export function readEntries(
  input: Input,
  { format, header }: PushFlags,
  onHeader?: (header: Header) => void,
): AsyncGenerator<Entry> {
  return formats[format](readLines(input), { header, onHeader });
}
