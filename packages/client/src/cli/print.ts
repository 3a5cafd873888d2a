import { harmless } from "./text.ts";

/** Prints lines for a person. Escapes untrusted data so that it is safe on a terminal. */
export function print(text: string): void {
  process.stdout.write(`${harmless(text)}\n`);
}

/** The same on stderr. */
export function printError(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}
