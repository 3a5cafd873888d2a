import type { ErrorCode, SluiceError } from "../index.ts";
import type { Output } from "./output.ts";
import { oneLine } from "./text.ts";

/** Maximum error locations shown for a refusal. */
const MAX_LOCATIONS = 10;

/** Errors that a wrong address causes. */
const WRONG_URL: ReadonlySet<ErrorCode> = new Set(["unreachable", "redirected", "unreadable"]);

/** Prints what went wrong and where, without repetition. */
export function reportError(out: Output, error: SluiceError): void {
  out.note(out.noteStyle(oneLine(errorWords(error)), "red"));
  const locations = error.errors.filter((location) => !error.detail.includes(location.detail));
  for (const location of locations.slice(0, MAX_LOCATIONS)) {
    out.note(`  ${"line" in location ? `line ${location.line}` : location.pointer}: ${oneLine(location.detail)}`);
  }
  if (WRONG_URL.has(error.code)) out.note("Check the URL in SLUICE_URL.");
  if (error.code === "unauthorized") out.note("Check the key in SLUICE_API_KEY.");
  if (error.requestId !== null) out.note(`request ${error.requestId}`);
}

/** The title and detail of an error, or only the detail if it repeats most words of the title. */
export function errorWords({ title, detail }: SluiceError): string {
  return saysTheSame(title, detail) ? detail : `${title}: ${detail}`;
}

function saysTheSame(title: string, detail: string): boolean {
  const words = title.toLowerCase().split(" ");
  const said = new Set(detail.toLowerCase().split(/[^a-z0-9-]+/));
  return words.filter((word) => said.has(word)).length >= words.length * 0.6;
}
