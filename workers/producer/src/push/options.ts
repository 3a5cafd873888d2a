import {
  DEFAULT_MODEL,
  INTERACTIVE_MAX_DOCUMENTS,
  MAX_LABEL_BYTES,
  err,
  hasControlCharacter,
  lanes,
  modelNames,
  ok,
  problemsOf,
  textFlaw,
  utf8Length,
  type FieldProblem,
  type Lane,
  type ModelName,
  type Result,
} from "@sluice/core";
import * as z from "zod";

/** The options of a push, which apply to all of its documents. */
export interface PushOptions {
  readonly collection: string;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly label: string | null;
  readonly truncateInputs: boolean;
}

/** Options as far as the caller gave them. */
export type GivenOptions = z.output<typeof optionsSchema>;

const collectionRule = 'collection must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and not "." or ".."';
export const collectionOption = z
  .string({ error: collectionRule })
  .regex(/^[A-Za-z0-9._-]{1,64}$/, collectionRule)
  .refine((name) => name !== "." && name !== "..", collectionRule);

export const labelOption = z.string({ error: "label must be a string" }).check((check) => {
  const flaw = labelFlaw(check.value);
  if (flaw !== null) check.issues.push({ code: "custom", input: undefined, message: `label ${flaw}` });
});

function labelFlaw(text: string): string | null {
  if (text.length === 0 || utf8Length(text) > MAX_LABEL_BYTES) return `must have 1 to ${MAX_LABEL_BYTES} bytes`;
  return hasControlCharacter(text) ? "must not contain control characters" : textFlaw(text);
}

const fields = {
  collection: collectionOption.describe("`default` if not given.").optional(),
  model: z.enum(modelNames, { error: `model must be one of: ${modelNames.join(", ")}` }).optional(),
  lane: z
    .enum(lanes, { error: `lane must be one of: ${lanes.join(", ")}` })
    .describe("If not given, `interactive` for JSON of up to 100 documents, otherwise `bulk`.")
    .optional(),
  label: labelOption.describe("1–256 bytes: a name to find submissions by.").optional(),
};
const truncateRule = "truncate_inputs must be true or false";
const optionsSchema = z.object({ ...fields, truncate_inputs: z.boolean({ error: truncateRule }).optional() });

/** The options of a push as query parameters. */
export const pushQuerySchema = z.strictObject({
  ...fields,
  truncate_inputs: z
    .enum(["true", "false"], { error: truncateRule })
    .transform((text) => text === "true")
    .meta({
      parameter: { type: "boolean" },
      description: "Whether texts beyond the model's window are cut. `true` by default.",
    })
    .optional(),
});

/** A list of documents in one JSON body, with the options of the push. */
export const envelopeSchema = z.strictObject({
  documents: z
    .array(z.unknown(), { error: "documents must be a list of documents" })
    .min(1, "documents must have at least one document"),
  ...optionsSchema.shape,
});

/** Splits a body into its `documents` and the options beside them. */
export function parseEnvelope(
  body: unknown,
): Result<{ readonly documents: readonly unknown[]; readonly options: GivenOptions }, FieldProblem[]> {
  const parsed = envelopeSchema.safeParse(body);
  if (!parsed.success) return err(problemsOf(parsed.error, body, () => Object.keys(envelopeSchema.shape)));
  const { documents, ...options } = parsed.data;
  return ok({ documents, options });
}

/** Options from the query string and the body. An option may be in both only with the same value. */
export function mergeOptions(query: GivenOptions, body: GivenOptions): Result<GivenOptions, FieldProblem[]> {
  const names = ["collection", "model", "lane", "label", "truncate_inputs"] as const;
  const conflicts = names.filter(
    (name) => query[name] !== undefined && body[name] !== undefined && query[name] !== body[name],
  );
  if (conflicts.length === 0) return ok({ ...query, ...body });
  return err(
    conflicts.map((name) => ({
      pointer: `/${name}`,
      detail: `${name} in the body and ?${name}= in the query string differ: give one, or the same value`,
    })),
  );
}

/** `documents`: their number in a JSON body; `null` for NDJSON. */
export function fillOptions(given: GivenOptions, documents: number | null): PushOptions {
  const small = documents !== null && documents <= INTERACTIVE_MAX_DOCUMENTS;
  return {
    collection: given.collection ?? "default",
    model: given.model ?? DEFAULT_MODEL,
    lane: given.lane ?? (small ? "interactive" : "bulk"),
    label: given.label ?? null,
    truncateInputs: given.truncate_inputs ?? true,
  };
}
