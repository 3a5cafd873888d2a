import { documentSchema } from "@sluice/core";
import * as z from "zod";
import { envelopeSchema } from "../push/options.ts";
import { documentOutSchema } from "./document.ts";
import { jobSchema } from "./job.ts";
import { malformedMessageSchema } from "./malformed.ts";
import { pauseSchema } from "./pause.ts";
import { countsSchema, submissionSchema } from "./submission.ts";
import { count } from "./time.ts";

const nextCursor = z
  .string()
  .nullable()
  .describe("The next page; null at the end. A short page, even an empty one, may have a next one.");

export const documentPageSchema = z.strictObject({ data: z.array(documentOutSchema), next_cursor: nextCursor });
export const jobPageSchema = z.strictObject({ data: z.array(jobSchema), next_cursor: nextCursor });
export const submissionPageSchema = z.strictObject({
  data: z.array(submissionSchema),
  next_cursor: nextCursor,
  counts: countsSchema.optional().describe("Of every submission with the label, if `label` is given."),
});
export const documentListSchema = z.strictObject({
  data: z.array(documentOutSchema),
  missing: z.array(z.string()).describe("Ids that the collection does not have."),
});
export const retriedSchema = z.strictObject({
  submission: submissionSchema,
  queued: count.describe(
    "Documents that this retry has queued again so far: it continues as long as `submission.retry` is not null.",
  ),
  lost: count.describe(
    "Documents that failed as `message_lost`: they were never recorded and cannot be queued again. Push them again.",
  ),
  expired: count.describe(
    "Failed documents that cannot be queued again, because they were deleted, or their texts were deleted to make " +
      "room in a nearly full database. With `code`, and during the retry, deleted ones are not counted. Push them again.",
  ),
});
export const deletedSchema = z.strictObject({ deleted: count.describe("Versions that were deleted.") });
export const malformedPageSchema = z.strictObject({ data: z.array(malformedMessageSchema), next_cursor: nextCursor });
export const replayedSchema = z.strictObject({ replayed: count.describe("Messages that were sent again.") });
const pausesInForce = z.array(pauseSchema).describe("The pauses in force.");
export const pauseListSchema = z.strictObject({ data: pausesInForce });
export const resumedSchema = z.strictObject({
  resumed: pauseSchema.nullable().describe("The pause that ended; null if there was none."),
  data: pausesInForce,
});

/** A problem (RFC 9457). */
export const problemSchema = z.looseObject({
  type: z.string().describe("`/problems/NAME`."),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe("What is wrong, where, what is allowed, what to do."),
  errors: z
    .array(
      z.union([
        z.strictObject({ pointer: z.string(), detail: z.string() }),
        z.strictObject({ line: z.int(), detail: z.string() }),
      ]),
    )
    .describe(
      "Where the errors are: a JSON Pointer into the body, `?name` for a query parameter, `{name}` for a path parameter, " +
        "or a line. The first 20, or the first 100 lines.",
    ),
  request_id: z.string().optional().describe("The log has details under it."),
  submission: z
    .string()
    .nullable()
    .optional()
    .describe("The submission that the push left open, or that the earlier push with this Idempotency-Key has."),
  rejected_count: count.optional().describe("Lines that were refused."),
});

export const documentInSchema = documentSchema;
/** A JSON push: a document, or a list with the options of the push. */
export const pushBodySchema = z.union([
  documentSchema,
  envelopeSchema.extend({ documents: z.array(documentSchema).min(1) }),
]);
