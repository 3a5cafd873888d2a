import * as z from "zod";
import { problemsOf, type AllowedFields, type FieldProblem } from "./field-problems.ts";
import { MAX_CONTEXTS, MAX_CONTEXT_ID_BYTES, MAX_DOCUMENT_BYTES, MAX_DOCUMENT_ID_BYTES } from "./limits.ts";
import { readMetadata } from "./metadata.ts";
import { isSurelyTooLong, type ModelName } from "./models.ts";
import { err, ok, type Result } from "./result.ts";
import { hasControlCharacter, jsonPointer, textFlaw, utf8Length } from "./text.ts";

/** The error for a field of the wrong type: missing, or what it must be. */
const missingOr = (what: string, rule: string) => (issue: { readonly input?: unknown }) =>
  issue.input === undefined ? `${what} must be given` : `${what} ${rule}`;

const text = (what: string) =>
  z.string({ error: missingOr(what, "must be a string") }).check((check) => {
    const flaw = check.value.length === 0 ? "must not be empty" : textFlaw(check.value);
    if (flaw !== null) check.issues.push({ code: "custom", input: undefined, message: `${what} ${flaw}` });
  });

/** A document id: 1–256 bytes, no control characters, not `.` or `..` (it is part of a URL path). */
export function documentIdFlaw(id: string): string | null {
  if (id.length === 0) return "must not be empty: omit it to get a generated id";
  if (utf8Length(id) > MAX_DOCUMENT_ID_BYTES) return `must be at most ${MAX_DOCUMENT_ID_BYTES} bytes`;
  if (hasControlCharacter(id)) return "must not contain control characters";
  if (id === "." || id === "..") return 'must not be "." or ".."';
  return textFlaw(id);
}

/** A document's id: 1–256 bytes without control characters, not `.` or `..`. */
const documentIdSchema = z.string({ error: "id must be a string" }).check((check) => {
  const flaw = documentIdFlaw(check.value);
  if (flaw !== null) check.issues.push({ code: "custom", input: undefined, message: `id ${flaw}` });
});

const contextIdSchema = text("the context's id").check((check) => {
  if (utf8Length(check.value) > MAX_CONTEXT_ID_BYTES) {
    check.issues.push({
      code: "custom",
      input: undefined,
      message: `the context's id must be at most ${MAX_CONTEXT_ID_BYTES} bytes`,
    });
  }
});

const namedContextSchema = z.strictObject(
  {
    id: contextIdSchema.describe("1–512 bytes, unique in its document. The default is its index.").optional(),
    text: text("the context's text").meta({ minLength: 1 }),
  },
  { error: "a context must be a string or { id?, text }" },
);
const contextSchema = z.union([text("the context").meta({ minLength: 1 }), namedContextSchema], {
  error: "a context must be a string or { id?, text }",
});

/** Only the type is checked here. `readMetadata` checks the text of the metadata. */
const metadataSchema = z.custom<Record<string, unknown>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  { error: "metadata must be an object" },
);

const TOO_MANY_CONTEXTS = `contexts must contain at most ${MAX_CONTEXTS} contexts: split the document`;

/** A document as a user sends it. */
export const documentSchema = z
  .strictObject(
    {
      id: documentIdSchema
        .describe("1–256 bytes without control characters, not `.` or `..`. The default is `{submission_id}-{n}`.")
        .optional(),
      query: text("query").meta({ minLength: 1 }),
      contexts: z
        .array(contextSchema, { error: missingOr("contexts", "must be a list of strings or of { id?, text }") })
        .min(1, "contexts must contain at least one context")
        .max(MAX_CONTEXTS, TOO_MANY_CONTEXTS),
      metadata: metadataSchema
        .meta({
          type: "object",
          description:
            "Returned on request: numbers, strings and names exactly as written, without the white space " +
            "between them. At most 4 KB of JSON in that form, 32 levels deep.",
        })
        .optional(),
    },
    { error: "a document must be an object { id?, query, contexts, metadata? }" },
  )
  .check((check) => {
    const seen = new Set<string>();
    for (const [index, context] of check.value.contexts.entries()) {
      const id = contextId(context, index);
      if (seen.has(id)) {
        check.issues.push({
          code: "custom",
          input: undefined,
          path: ["contexts", index],
          message: "the context's id must be unique in its document (a context without one has its index)",
        });
        return;
      }
      seen.add(id);
    }
  });

type DocumentInput = z.infer<typeof documentSchema>;

/** The fields of a document and of a context. */
const allowedFields: AllowedFields = (path) =>
  Object.keys(path.length === 0 ? documentSchema.shape : namedContextSchema.shape);

function contextId(context: DocumentInput["contexts"][number], index: number): string {
  return typeof context === "string" ? String(index) : (context.id ?? String(index));
}

/** One thing to score: a query and its contexts, validated and in the form that is stored. */
export interface Document {
  /** `null` if the caller gave none: it is then named after its submission and index. */
  readonly id: string | null;
  readonly query: string;
  /** Texts, in the caller's order. */
  readonly contexts: readonly string[];
  /** As many as contexts; `null` if every context uses its index as its id. */
  readonly contextIds: readonly string[] | null;
  /** JSON text of an object as it was written, without white space between tokens. */
  readonly metadata: string | null;
}

/** Options of a push that affect the validation of a document. */
interface DocumentRules {
  readonly model: ModelName;
  readonly truncateInputs: boolean;
}

/**
 * Validates one parsed JSON value as a document. `metadata` is the text of its member of that name, if any, because
 * parsing may have lost digits of numbers. Problems point to their location from the document's root and never contain
 * its text.
 */
export function parseDocument(
  value: unknown,
  metadata: string | null,
  rules: DocumentRules,
): Result<Document, FieldProblem[]> {
  // Check the number first: millions of invalid contexts would become millions of problems in memory.
  if (hasTooManyContexts(value)) return err([{ pointer: "/contexts", detail: TOO_MANY_CONTEXTS }]);
  const parsed = documentSchema.safeParse(value);
  // The schema reports a value that is not an object.
  const read = metadata === null || !metadata.startsWith("{") ? ok(null) : readMetadata(metadata);
  const problems = parsed.success ? [] : problemsOf(parsed.error, value, allowedFields);
  if (!read.ok) {
    const pointer = jsonPointer(["metadata", ...read.error.path]);
    problems.push({ pointer, detail: `metadata ${read.error.detail}` });
  }
  if (!parsed.success || !read.ok) return err(problems);
  const document = toDocument(parsed.data, read.value);
  const problem = windowProblem(document, rules);
  return problem === null ? ok(document) : err([problem]);
}

function hasTooManyContexts(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("contexts" in value)) return false;
  return Array.isArray(value.contexts) && value.contexts.length > MAX_CONTEXTS;
}

function toDocument(input: DocumentInput, metadata: string | null): Document {
  const named = input.contexts.some((context) => typeof context !== "string" && context.id !== undefined);
  return {
    id: input.id ?? null,
    query: input.query,
    contexts: input.contexts.map((context) => (typeof context === "string" ? context : context.text)),
    contextIds: named ? input.contexts.map(contextId) : null,
    metadata,
  };
}

function windowProblem(document: Document, rules: DocumentRules): FieldProblem | null {
  if (rules.truncateInputs) return null;
  const detail = `is beyond the window of ${rules.model}: shorten it, or push with truncate_inputs true`;
  if (isSurelyTooLong(rules.model, document.query)) return { pointer: "/query", detail: `query ${detail}` };
  const index = document.contexts.findIndex((context) => isSurelyTooLong(rules.model, context));
  return index < 0 ? null : { pointer: `/contexts/${index}`, detail: `the context ${detail}` };
}

/** A document as JSON text, in the form that messages and D1 use. */
export interface SerializedDocument {
  readonly id: string;
  readonly json: string;
  /** UTF-8 bytes of `json`. */
  readonly bytes: number;
  /** UTF-8 bytes of its request in a Batch API payload. */
  readonly payloadBytes: number;
  readonly contexts: number;
}

/** `{"query":,"contexts":,"truncate_inputs":false,"external_reference":"sub_<36>:"}` and the comma between two. */
const REQUEST_FRAME_BYTES = '{"query":,"contexts":,"truncate_inputs":false,"external_reference":""},'.length + 41;
/** `{"text":}` around each context. */
const REQUEST_CONTEXT_BYTES = '{"text":}'.length;

/**
 * Serializes a document once: this exact text goes into the message and from there into D1. `index` counts from 0 in
 * the push. Metadata is a string that holds its text, so that nothing parses it on the way. Refuses a document of more
 * than 1,000,000 bytes.
 */
export function serializeDocument(
  document: Document,
  id: string,
  index: number,
): Result<SerializedDocument, FieldProblem> {
  const query = JSON.stringify(document.query);
  const contexts = JSON.stringify(document.contexts);
  const contextIds = document.contextIds === null ? "" : `,"context_ids":${JSON.stringify(document.contextIds)}`;
  const metadata = document.metadata === null ? "" : `,"metadata":${JSON.stringify(document.metadata)}`;
  const queryAndContexts = utf8Length(query) + utf8Length(contexts);
  const idsBytes = utf8Length(contextIds);
  const content = queryAndContexts + idsBytes + (document.metadata === null ? 0 : utf8Length(document.metadata));
  if (content > MAX_DOCUMENT_BYTES) {
    return err({ pointer: "", detail: `the document must be at most ${MAX_DOCUMENT_BYTES} bytes: it has ${content}` });
  }
  const payloadBytes =
    queryAndContexts + document.contexts.length * REQUEST_CONTEXT_BYTES + REQUEST_FRAME_BYTES + String(index).length;
  const head = `{"place":${index},"id":${JSON.stringify(id)},"bytes":${payloadBytes},"query":`;
  const json = `${head}${query},"contexts":${contexts}${contextIds}${metadata}}`;
  return ok({
    id,
    json,
    bytes: utf8Length(head) + queryAndContexts + idsBytes + utf8Length(metadata) + '},"contexts":'.length,
    payloadBytes,
    contexts: document.contexts.length,
  });
}
