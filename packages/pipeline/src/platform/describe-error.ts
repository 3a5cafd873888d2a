import { isTransient, withCauses } from "@sluice/db";

/** What may be logged of an error: names and codes, never a message. */
export interface ErrorDescription {
  /** The class, or the type of a value that is no error. */
  readonly error: string;
  /** The class of the innermost cause; `""` if there is none. */
  readonly cause: string;
  /** What SQLite, D1 or Workers AI calls it: `SQLITE_CONSTRAINT`, `D1_ERROR`, `3040`. `null`: no code is known. */
  readonly code: string | null;
  /** Whether D1 may succeed at the next try. */
  readonly transient: boolean;
  /** Where it was thrown: up to four frames of the stack. */
  readonly at: readonly string[];
}

/**
 * Describes a thrown value for a log. Messages are left out: Drizzle's holds the values that it bound, V8's
 * for invalid JSON quotes the text. Codes are read from where D1, SQLite and Workers AI put them, and only
 * in the form that theirs have.
 */
export function describeError(error: unknown): ErrorDescription {
  const chain = withCauses(error);
  const [first] = chain;
  const last = chain.at(-1);
  return {
    error: first === undefined ? typeof error : className(first),
    cause: last === undefined || last === first ? "" : className(last),
    // The innermost knows most: it is D1's own.
    code:
      chain
        .toReversed()
        .map(codeOf)
        .find((code) => code !== null) ?? null,
    transient: isTransient(error),
    at: first === undefined ? [] : framesOf(first),
  };
}

/** The name of the class: `name` is `Error` in those that do not set it, as in Drizzle's. */
function className(error: Error): string {
  const name = error.name === "Error" ? error.constructor.name : error.name;
  return /^[A-Za-z_$][\w$]{0,60}$/.test(name) ? name : "Error";
}

/** SQLite's result codes, at the end of D1's messages, with the extended one if there is one. */
const SQLITE_CODE = /: (SQLITE_[A-Z]{2,12})(?: \(extended: (SQLITE_[A-Z]{2,12}_[A-Z]{2,20})\))?$/;
const D1_CODE = /^(D1_[A-Z]{2,12}(?:_[A-Z]{2,12})?):/;
/** Workers AI's, in front of its messages. */
const WORKERS_AI_CODE = /^(?:\w{0,40}Error: ?){0,5}([1-9]\d{3,4}): /;

function codeOf({ message }: Error): string | null {
  const d1 = D1_CODE.exec(message)?.[1];
  if (d1 === undefined) return WORKERS_AI_CODE.exec(message)?.[1] ?? null;
  const [, primary, extended] = SQLITE_CODE.exec(message) ?? [];
  return extended ?? primary ?? d1;
}

const MAX_FRAMES = 4;

/** A stack begins with the message, whose lines may look like frames. */
function framesOf({ message, stack = "" }: Error): string[] {
  const start = stack.indexOf(message);
  if (start < 0) return [];
  const lines = stack.slice(start + message.length).split("\n");
  return lines
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim());
}
