import { describeError, isPassing, type Pause } from "@sluice/db";
import type { StepIo } from "./io.ts";
import { recordJob, type PlannedPart } from "./record-job.ts";

/** What became of a part that was to be recorded. */
export type Recording =
  | { readonly kind: "recorded" }
  /** It must be recorded again. */
  | { readonly kind: "unrecorded" }
  /** A constraint of the schema forbids it: the part is good, and what is at fault is the code or the data in D1. */
  | { readonly kind: "refused"; readonly constraint: string }
  /** D1 cannot read its content, and never will. */
  | { readonly kind: "unreadable" };

/** SQLite's words for content that it cannot take in. */
const UNREADABLE = /malformed json|too big/i;
/** SQLite's words for a constraint, with its kind and name: neither holds a value. */
const CONSTRAINT = /(\w+(?: \w+)?) constraint failed(?:: ([\w.]+))?/i;

/**
 * Records a job's parts. D1 refuses all of them where one is at fault, so then each is tried by
 * itself, in a job of its own: a refused part does not keep its neighbors back.
 */
export async function recordApart<Part extends PlannedPart>(
  io: StepIo,
  parts: readonly Part[],
  pauses: Pause[],
): Promise<{ readonly part: Part; readonly recording: Recording }[]> {
  const all = (recording: Recording) => parts.map((part) => ({ part, recording }));
  try {
    const recorded = await recordJob(io, parts, pauses);
    return parts.map((part, index) => ({
      part,
      recording: { kind: recorded[index] === true ? "recorded" : "unrecorded" },
    }));
  } catch (error) {
    const failure = failureOf(error);
    io.log({
      event: "recording_broke_off",
      parts: parts.length,
      refused: failure.kind !== "unrecorded",
      ...describeError(error),
    });
    if (failure.kind === "unrecorded" || parts.length === 1) return all(failure);
    const apart = [];
    for (const part of parts) apart.push(...(await recordApart(io, [part], pauses)));
    return apart;
  }
}

function failureOf(error: unknown): Recording {
  if (!(error instanceof Error) || isPassing(error)) return { kind: "unrecorded" };
  if (UNREADABLE.test(error.message)) return { kind: "unreadable" };
  const [found, kind = "", name = ""] = CONSTRAINT.exec(error.message) ?? [];
  return found === undefined ? { kind: "unrecorded" } : { kind: "refused", constraint: `${kind} ${name}`.trim() };
}
