import type { ErrorCode, SluiceError } from "../index.ts";
import type { Output } from "./output.ts";
import { oneLine } from "./text.ts";

/** Places that are told of a refusal. */
const MAX_PLACES = 10;

/** What a wrong address leads to. */
const WRONG_URL: ReadonlySet<ErrorCode> = new Set(["unreachable", "redirected", "unreadable"]);

/** Says what went wrong and where, each thing once. */
export function tellError(out: Output, error: SluiceError): void {
  out.note(out.noteStyle(oneLine(errorWords(error)), "red"));
  const places = error.errors.filter((place) => !error.detail.includes(place.detail));
  for (const place of places.slice(0, MAX_PLACES)) {
    out.note(`  ${"line" in place ? `line ${place.line}` : place.pointer}: ${oneLine(place.detail)}`);
  }
  if (WRONG_URL.has(error.code)) out.note("SLUICE_URL sets the URL.");
  if (error.code === "unauthorized") out.note("SLUICE_API_KEY holds the key that was sent.");
  if (error.requestId !== null) out.note(`request ${error.requestId}`);
}

/** A title is the kind of the error. Where most of its words stand in the detail, that says it all. */
export function errorWords({ title, detail }: SluiceError): string {
  return saysTheSame(title, detail) ? detail : `${title}: ${detail}`;
}

function saysTheSame(title: string, detail: string): boolean {
  const words = title.toLowerCase().split(" ");
  const said = new Set(detail.toLowerCase().split(/[^a-z0-9-]+/));
  return words.filter((word) => said.has(word)).length >= words.length * 0.6;
}
