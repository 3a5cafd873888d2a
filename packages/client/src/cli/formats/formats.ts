import { cohere } from "./cohere.ts";
import type { Format } from "./format.ts";
import { sluice } from "./sluice.ts";
import { tsv } from "./tsv.ts";
import { voyage } from "./voyage.ts";

/** The formats of `push --format`. */
export const formats = { sluice, cohere, voyage, tsv } as const satisfies Record<string, Format>;
export type FormatName = keyof typeof formats;
export const formatNames = Object.keys(formats) as FormatName[];
