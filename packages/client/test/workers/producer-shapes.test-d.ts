/* Compiled, never run: the producer's answers match the client's types, with the same keys. */
import type {
  FailureCode as CoreFailureCode,
  JobStatus as CoreJobStatus,
  Lane as CoreLane,
  PauseReason as CorePauseReason,
} from "@sluice/core";
import type { WaitingReason as CoreWaitingReason } from "@sluice/pipeline/job/waiting.ts";
import type { PROBLEMS } from "../../../../workers/producer/src/http/problems.ts";
import type { pushQuerySchema } from "../../../../workers/producer/src/push/options.ts";
import type * as answers from "../../../../workers/producer/src/shapes/answers.ts";
import type { collectionShape, deletionShape } from "../../../../workers/producer/src/shapes/collection.ts";
import type { documentShape } from "../../../../workers/producer/src/shapes/document.ts";
import type { jobShape } from "../../../../workers/producer/src/shapes/job.ts";
import type { malformedShape } from "../../../../workers/producer/src/shapes/malformed.ts";
import type { pauseBody, pauseShape } from "../../../../workers/producer/src/shapes/pause.ts";
import type { acceptedSchema } from "../../../../workers/producer/src/shapes/push.ts";
import type { statsShape } from "../../../../workers/producer/src/shapes/stats.ts";
import type { submissionShape } from "../../../../workers/producer/src/shapes/submission.ts";
import type * as client from "../../src/types.ts";

/** The output type of a schema. */
type Out<Schema extends { readonly _zod: { readonly output: unknown } }> = Schema["_zod"]["output"];

/** Paths of keys in `A` that are not in `B`. */
type ExtraKeys<A, B> = A extends string | number | boolean | null | undefined
  ? never
  : A extends readonly (infer Item)[]
    ? B extends readonly (infer Other)[]
      ? ExtraKeys<Item, Other>
      : "a list"
    : | Exclude<keyof A, keyof B>
      | { [Key in keyof A & keyof B]-?: ExtraKeys<NonNullable<A[Key]>, NonNullable<B[Key]>> }[keyof A & keyof B];

/**
 * `true`, or the mismatch. Ids are branded in the producer and plain in the client, so values are compared in one
 * direction.
 */
type Gives<Given, Wanted> = [Given] extends [Wanted]
  ? [ExtraKeys<Given, Wanted>] extends [never]
    ? [ExtraKeys<Wanted, Given>] extends [never]
      ? true
      : { readonly lacks: ExtraKeys<Wanted, Given> }
    : { readonly hasToo: ExtraKeys<Given, Wanted> }
  : { readonly isNot: Wanted };

type Same<A, B> = [A] extends [B]
  ? [B] extends [A]
    ? true
    : { readonly lacks: Exclude<B, A> }
  : { readonly hasToo: Exclude<A, B> };

type True<Check extends true> = Check;

/** A document as HTTP returns it: the client adds `metadata_json`. */
type DocumentOverHttp = Omit<client.Document, "metadata_json">;

export type Shapes = [
  True<Gives<ReturnType<typeof documentShape>, DocumentOverHttp>>,
  True<Gives<ReturnType<typeof submissionShape>, client.Submission>>,
  True<Gives<ReturnType<typeof jobShape>, client.Job>>,
  True<Gives<ReturnType<typeof statsShape>, client.Stats>>,
  True<Gives<ReturnType<typeof pauseShape>, client.Pause>>,
  True<Gives<ReturnType<typeof malformedShape>, client.MalformedMessage>>,
  True<Gives<Out<typeof answers.malformedPageSchema>, client.Page<client.MalformedMessage>>>,
  True<Gives<Out<typeof answers.replayedSchema>, client.Replayed>>,
  True<Gives<Out<typeof acceptedSchema>, client.PushAccepted>>,
  True<Gives<Out<typeof answers.documentPageSchema>, client.Page<DocumentOverHttp>>>,
  True<Gives<Out<typeof answers.submissionPageSchema>, client.SubmissionPage>>,
  True<Gives<Out<typeof answers.jobPageSchema>, client.Page<client.Job>>>,
  True<
    Gives<
      Out<typeof answers.documentListSchema>,
      Omit<client.DocumentList, "data"> & { readonly data: readonly DocumentOverHttp[] }
    >
  >,
  True<Gives<Out<typeof answers.retriedSchema>, client.RetryAccepted>>,
  True<Gives<Out<typeof answers.deletedSchema>, client.DeletedDocument>>,
  True<Gives<ReturnType<typeof collectionShape>, client.Collection>>,
  True<Gives<ReturnType<typeof deletionShape>, client.CollectionDeletion>>,
  True<Gives<Out<typeof answers.pauseListSchema>, client.PauseList>>,
  True<Gives<Out<typeof answers.resumedSchema>, client.Resumed>>,
];

export type Inputs = [
  True<Same<keyof client.DocumentIn, keyof Out<typeof answers.documentInSchema>>>,
  True<Same<keyof client.PushParameters, keyof Out<typeof pushQuerySchema>>>,
  True<Same<keyof client.PauseBody, keyof Out<typeof pauseBody>>>,
];

export type Lists = [
  True<Same<client.Lane, CoreLane>>,
  True<Same<client.FailureCode, CoreFailureCode>>,
  True<Same<client.JobStatus, CoreJobStatus>>,
  True<Same<client.PauseReason, CorePauseReason>>,
  True<Same<client.WaitingReason, CoreWaitingReason>>,
  True<Same<client.ProblemName, keyof typeof PROBLEMS>>,
];
