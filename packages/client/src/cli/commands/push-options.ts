import type { Lane } from "../../types.ts";
import { formats, type Entry, type FormatName, type Header } from "../formats/index.ts";
import { readLines, type Input } from "../input.ts";

/** Their waits, which double, make 30 to 60 s in all: a server that is started again is back by then. */
export const PUSH_RETRIES = 7;

/** What `push` was called with. */
export interface PushFlags {
  readonly collection?: string;
  readonly model?: string;
  readonly lane?: Lane;
  readonly label?: string;
  readonly truncate: boolean;
  readonly format: FormatName;
  /** Whether the first row of `tsv` names the columns. */
  readonly header?: "yes" | "no";
  readonly key?: string;
  readonly gzip?: boolean;
  readonly estimate?: boolean;
  readonly maxUsd?: number;
  readonly wait: boolean;
}

/** Reads a file in the format that `push` was called with; `onHeader` is told of the row that names the columns. */
export function readEntries(
  input: Input,
  { format, header }: PushFlags,
  onHeader?: (header: Header) => void,
): AsyncGenerator<Entry> {
  return formats[format](readLines(input), { header, onHeader });
}
