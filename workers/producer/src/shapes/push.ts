import * as z from "zod";
import { submissionSchema } from "./submission.ts";
import { count } from "./time.ts";

/** Refused lines that are listed; all are counted. */
export const MAX_REJECTED = 100;
/** The answer lists the ids of a JSON push of up to this many documents. */
export const MAX_NAMED = 100;

const rejectedSchema = z.strictObject({ line: z.int().min(1).describe("Blank lines count."), detail: z.string() });

/** The answer to a push. */
export const acceptedSchema = z.strictObject({
  submission: submissionSchema,
  documents: z
    .array(z.strictObject({ id: z.string() }))
    .nullable()
    .describe("The ids in the order pushed, for JSON of up to 100 documents; otherwise null."),
  accepted: count.describe("Documents that were accepted."),
  rejected_count: count.describe("Lines that were refused; 0 for JSON, which is all or nothing."),
  rejected: z.array(rejectedSchema).describe("The first 100 refused lines."),
});
export type AcceptedShape = z.infer<typeof acceptedSchema>;
