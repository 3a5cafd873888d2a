import { isTransient, withCauses } from "@sluice/db";

/** The parts of an error that may be logged: names and codes, never a message. */
export interface ErrorDescription {
  /** The class, or the type of a value that is not an error. */
  readonly error: string;
  /** The class of the innermost cause; `""` if there is none. */
  readonly cause: string;
  /** The code from SQLite, D1 or Workers AI: `SQLITE_CONSTRAINT`, `D1_ERROR`, `3040`; `null` if no code is known. */
  readonly code: string | null;
  /** Whether D1 may succeed if the call is repeated. */
  readonly transient: boolean;
  /** Where it was thrown: up to four frames of the stack. */
  readonly at: readonly string[];
}

/**
 * Describes a thrown value for a log. Messages are left out: Drizzle's contain the bound values, and V8's for invalid
 * JSON quote the text. Codes are read only from the places and in the formats that D1, SQLite and Workers AI use.
 */
export function describeError(error: unknown): ErrorDescription {
  const chain = withCauses(error);
  const [first] = chain;
  const last = chain.at(-1);
  return {
    error: first === undefined ? typeof error : className(first),
    cause: last === undefined || last === first ? "" : className(last),
    // The innermost cause is D1's own and has the most information.
    code:
      chain
        .toReversed()
        .map(codeOf)
        .find((code) => code !== null) ?? null,
    transient: isTransient(error),
    at: first === undefined ? [] : framesOf(first),
  };
}

/** The name of the class. `name` is `Error` in classes that do not set it, such as Drizzle's. */
function className(error: Error): string {
  const name = error.name === "Error" ? error.constructor.name : error.name;
  return /^[A-Za-z_$][\w$]{0,60}$/.test(name) ? name : "Error";
}

/** SQLite's result codes, at the end of D1's messages, with the extended code if there is one. */
const SQLITE_CODE = /: (SQLITE_[A-Z]{2,12})(?: \(extended: (SQLITE_[A-Z]{2,12}_[A-Z]{2,20})\))?$/;
const D1_CODE = /^(D1_[A-Z]{2,12}(?:_[A-Z]{2,12})?):/;
/** Workers AI's codes, at the start of its messages. */
const WORKERS_AI_CODE = /^(?:\w{0,40}Error: ?){0,5}([1-9]\d{3,4}): /;

function codeOf({ message }: Error): string | null {
  const d1 = D1_CODE.exec(message)?.[1];
  if (d1 === undefined) return WORKERS_AI_CODE.exec(message)?.[1] ?? null;
  const [, primary, extended] = SQLITE_CODE.exec(message) ?? [];
  return extended ?? primary ?? d1;
}

const MAX_FRAMES = 4;

/** A stack begins with the message, and its lines may look like frames. */
function framesOf({ message, stack = "" }: Error): string[] {
  const start = stack.indexOf(message);
  if (start < 0) return [];
  const lines = stack.slice(start + message.length).split("\n");
  return lines
    .filter((line) => /^\s+at /.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim());
}
