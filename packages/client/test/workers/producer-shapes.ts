/*
 * Compiled, never run: what the producer gives out is what the client's types say, no key more or less.
 */
import type { FailureCode as CoreFailureCode, JobStatus as CoreJobStatus, Lane as CoreLane, PauseReason as CorePauseReason } from "@sluice/core";
import type { PROBLEMS } from "../../../../workers/producer/src/http/problems.ts";
import type { documentShape } from "../../../../workers/producer/src/shapes/document.ts";
import type { submissionShape } from "../../../../workers/producer/src/shapes/submission.ts";
import type { Document, FailureCode, JobStatus, Lane, PauseReason, ProblemName, Submission } from "../../src/types.ts";

/** Paths of keys that `A` has and `B` has not. */
type ExtraKeys<A, B> = A extends string | number | boolean | null | undefined
  ? never
  : A extends readonly (infer Item)[]
    ? B extends readonly (infer Other)[]
      ? ExtraKeys<Item, Other>
      : "a list"
    :
        | Exclude<keyof A, keyof B>
        | { [Key in keyof A & keyof B]-?: ExtraKeys<NonNullable<A[Key]>, NonNullable<B[Key]>> }[keyof A & keyof B];

/** `true`, or what is wrong. Ids are branded there and plain here, so that values are compared one way. */
type Gives<Given, Wanted> = [Given] extends [Wanted]
  ? [ExtraKeys<Given, Wanted>] extends [never]
    ? [ExtraKeys<Wanted, Given>] extends [never]
      ? true
      : { readonly lacks: ExtraKeys<Wanted, Given> }
    : { readonly hasToo: ExtraKeys<Given, Wanted> }
  : { readonly isNot: Wanted };

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : { readonly lacks: Exclude<B, A> }) : { readonly hasToo: Exclude<A, B> };

export const shapes: [
  Gives<ReturnType<typeof documentShape>, Document>,
  Gives<ReturnType<typeof submissionShape>, Submission>,
  Same<Lane, CoreLane>,
  Same<FailureCode, CoreFailureCode>,
  Same<JobStatus, CoreJobStatus>,
  Same<PauseReason, CorePauseReason>,
  [keyof typeof PROBLEMS] extends [ProblemName] ? true : { readonly unknown: Exclude<keyof typeof PROBLEMS, ProblemName> },
] = [true, true, true, true, true, true, true];
