import { describeError } from "../platform/describe-error.ts";
import { isDatabaseFull, isTransient } from "@sluice/db";
import type { Context } from "../platform/context.ts";
import { recordJob, type PlannedPart, type RecordedJob } from "./record-job.ts";

/** The result of recording a part. */
export type Recording =
  | { readonly kind: "recorded" }
  /** It must be recorded again. */
  | { readonly kind: "unrecorded" }
  /** It must be recorded again once the database has room. */
  | { readonly kind: "full" }
  /**
   * A constraint forbids it, or the schema lacks a column or table. The part is valid, but the code or D1 is at fault.
   */
  | { readonly kind: "refused"; readonly constraint: string }
  /** D1 cannot read its content, and a retry does not help. */
  | { readonly kind: "unreadable" };

/** SQLite's messages for content that it cannot parse. */
const UNREADABLE = /malformed json|too big/i;
/** SQLite's message for a violated constraint, with its kind and name: neither holds a value. */
const CONSTRAINT = /(\w+(?: \w+)?) constraint failed(?:: ([\w.]+))?/i;

export interface RecordedApart<Part> {
  readonly parts: readonly { readonly part: Part; readonly recording: Recording }[];
  /** The jobs with the recorded parts. */
  readonly jobs: readonly RecordedJob[];
}

/**
 * Records a job's parts. D1 refuses all of them if one is invalid, so then each is recorded separately, in its own job:
 * a refused part does not delay its neighbors. `keepsContent`: see `recordJob`.
 */
export async function recordApart<Part extends PlannedPart>(
  context: Context,
  parts: readonly Part[],
  keepsContent: boolean,
): Promise<RecordedApart<Part>> {
  const [first, ...others] = parts;
  if (first === undefined) return { parts: [], jobs: [] };
  try {
    const recorded = await recordJob(context, [first, ...others], keepsContent);
    const recordings = parts.map((part, index) => ({
      part,
      recording: { kind: recorded.parts[index] === true ? "recorded" : "unrecorded" } as const,
    }));
    return { parts: recordings, jobs: [recorded.job] };
  } catch (error) {
    const failure = failureOf(error);
    context.log({
      event: "recording_broke_off",
      submission: first.part.submission,
      part: first.part.part,
      parts: parts.length,
      refused: failure.kind === "refused" || failure.kind === "unreadable",
      ...describeError(error),
    });
    if (failure.kind === "unrecorded" || failure.kind === "full" || parts.length === 1)
      return { parts: parts.map((part) => ({ part, recording: failure })), jobs: [] };
    const apart = [];
    for (const part of parts) apart.push(await recordApart(context, [part], keepsContent));
    return { parts: apart.flatMap((one) => one.parts), jobs: apart.flatMap((one) => one.jobs) };
  }
}

function failureOf(error: unknown): Recording {
  if (!(error instanceof Error) || isTransient(error)) return { kind: "unrecorded" };
  if (isDatabaseFull(error)) return { kind: "full" };
  if (UNREADABLE.test(error.message)) return { kind: "unreadable" };
  const [found, kind = "", name = ""] = CONSTRAINT.exec(error.message) ?? [];
  if (found !== undefined) return { kind: "refused", constraint: `${kind} ${name}`.trim() };
  // The message of a trigger may contain values, so only its code is used. The same applies to other permanent errors
  // of SQLite, such as a missing column.
  const { code } = describeError(error);
  if (code?.startsWith("SQLITE_") === true) return { kind: "refused", constraint: code };
  return { kind: "unrecorded" };
}
