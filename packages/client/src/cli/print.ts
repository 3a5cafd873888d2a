import { harmless } from "./text.ts";

/** Prints lines for a person, safe for a terminal whatever data they quote. */
export function print(text: string): void {
  process.stdout.write(`${harmless(text)}\n`);
}

/** The same on stderr. */
export function printError(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}
