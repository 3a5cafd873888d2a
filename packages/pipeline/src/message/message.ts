import * as z from "zod";
import {
  type SerializedDocument,
  parseSubmissionId,
  type SubmissionId,
  ID_FRAME_BYTES,
  MAX_PART_BYTES,
  MAX_PART_CONTEXTS,
  MAX_PART_DOCUMENTS,
  MAX_PART_ID_BYTES,
  MAX_SEND_BYTES,
  MAX_SEND_MESSAGES,
  MESSAGE_OVERHEAD_BYTES,
  modelSchema,
  type ModelName,
  err,
  ok,
  type Result,
  laneSchema,
  type Lane,
  utf8Length,
} from "@sluice/core";

/** Messages can be older than the deployed code, so each names its format. */
const MESSAGE_VERSION = 1;

/** The fields that every part of a submission repeats, so that a consumer needs only the message. */
export interface PartHeader {
  readonly submission: SubmissionId;
  readonly collection: string;
  readonly model: ModelName;
  readonly lane: Lane;
  readonly truncateInputs: boolean;
}

/** A list of strings, checked in one pass: a schema for each of them takes longer than all other checks of a part. */
function stringsSchema(min: { readonly entries: number; readonly length: number }) {
  const isLongEnough = (entry: unknown) => typeof entry === "string" && entry.length >= min.length;
  return z.custom<string[]>(
    (value) => Array.isArray(value) && value.length >= min.entries && value.every(isLongEnough),
    { abort: true },
  );
}

/** Whether a text is a JSON object. Routes copy the text of metadata into their answers unchanged. */
function isObjectText(text: string): boolean {
  try {
    return text.startsWith("{") && JSON.parse(text) !== null;
  } catch {
    return false;
  }
}

/**
 * A document in a part. `metadata` is JSON text, `bytes` is the size in a Batch API payload, and `place` is the index
 * in the push.
 */
const partDocumentSchema = z
  .object({
    place: z.int().min(0),
    id: z.string().min(1),
    bytes: z.int().min(1),
    query: z.string().min(1),
    contexts: stringsSchema({ entries: 1, length: 1 }),
    context_ids: stringsSchema({ entries: 0, length: 0 }).optional(),
    metadata: z.string().refine(isObjectText).optional(),
  })
  .refine((document) => document.context_ids === undefined || document.context_ids.length === document.contexts.length);

const headerFields = {
  v: z.literal(MESSAGE_VERSION),
  submission: z.string().transform((text, context): SubmissionId => {
    const id = parseSubmissionId(text);
    if (id !== null) return id;
    context.issues.push({ code: "custom", input: undefined, message: "not a submission id" });
    return z.NEVER;
  }),
  lane: laneSchema,
  part: z.int().min(0),
};

const partSchema = z.object({
  kind: z.literal("part"),
  ...headerFields,
  collection: z.string().min(1),
  model: modelSchema,
  truncate_inputs: z.boolean(),
  hash: z.string().min(1),
  documents: z.array(partDocumentSchema).min(1),
});
const stagedSchema = z.object({ kind: z.literal("staged"), ...headerFields });
const messageSchema = z.discriminatedUnion("kind", [partSchema, stagedSchema]);

export type PartDocument = z.infer<typeof partDocumentSchema>;
/** A part in a message, or staged in D1. */
export type PartMessage = z.infer<typeof partSchema>;
/** The content of one message: a part, or a reference to a part that is staged in D1. */
export type Message = PartMessage | z.infer<typeof stagedSchema>;

/** Parses a message's body. The reason names the invalid field and never contains text of a document. */
export function parseMessage(body: unknown): Result<Message, string> {
  if (typeof body !== "string") return err("the body is not text");
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return err("the body is not JSON");
  }
  const parsed = messageSchema.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  const place = parsed.error.issues[0]?.path.join(".") ?? "";
  return err(place === "" ? "the body is not a part" : `the body's "${place}" is not valid in this version`);
}

/**
 * Stands for a submission's id in its documents until the submission is opened. All ids have the same length, so parts
 * can be packed before their submission has an id.
 */
export const UNMINTED = "sub_00000000-0000-7000-8000-000000000000" as SubmissionId;

/**
 * A part about to be sent. `documentsJson` is the content of its list without the brackets, in UTF-8: bytes are outside
 * the heap, which the strings of a long push would fill.
 */
export interface PackedPart {
  readonly documentsJson: Uint8Array;
  readonly count: number;
  /** The offsets of `UNMINTED` in `documentsJson`, in ids of documents that are named after their submission. */
  readonly unminted: readonly number[];
  /** UTF-8 bytes of the message body. */
  readonly bytes: number;
}

/** Builds a part's message. `documentsJson` is the content of its list without the brackets, as text or UTF-8. */
export function partBody(header: PartHeader, part: number, hash: string, documentsJson: string | Uint8Array): string {
  const head = JSON.stringify({
    v: MESSAGE_VERSION,
    kind: "part",
    submission: header.submission,
    collection: header.collection,
    model: header.model,
    lane: header.lane,
    truncate_inputs: header.truncateInputs,
    part,
    hash,
  });
  const text = typeof documentsJson === "string" ? documentsJson : new TextDecoder().decode(documentsJson);
  return `${head.slice(0, -1)},"documents":[${text}]}`;
}

/** Finds the submission that a body names, even if the body is not a valid message; `null` if it names none. */
export function submissionNamed(body: string): SubmissionId | null {
  const found = /"submission":"(sub_[0-9a-f-]{36})"/.exec(body)?.[1];
  return found === undefined ? null : parseSubmissionId(found);
}

/** Builds the message that refers to a staged part. */
export function stagedBody({ submission, lane }: Pick<PartHeader, "submission" | "lane">, part: number): string {
  return JSON.stringify({ v: MESSAGE_VERSION, kind: "staged", submission, lane, part });
}

/** Bytes of a part's body without its documents, with the longest possible part number. */
function frameBytes(header: PartHeader): number {
  return utf8Length(partBody(header, 9_999_999, "0".repeat(64), ""));
}

/** Writes a submission's id into the ids of documents that are named after it, in place. */
export function mintDocumentIds({ documentsJson, unminted }: PackedPart, submission: SubmissionId): void {
  const id = new TextEncoder().encode(submission);
  for (const at of unminted) documentsJson.set(id, at);
}

/**
 * Whether a part reaches the consumer through D1 because it is too large for a message. Such a part has one document.
 */
export function isStaged(part: PackedPart): boolean {
  return part.bytes > MAX_PART_BYTES;
}

/**
 * Packs documents in their order into as few parts as fit in a message (127,700 B with the frame), 500 documents, 2,500
 * contexts and 50,000 B of ids. A document too large for a message gets its own part.
 */
export class PartPacker {
  readonly #frame: number;
  readonly #encoder = new TextEncoder();
  #documentsJson = new Uint8Array(0);
  #written = 0;
  #count = 0;
  #bytes: number;
  #contexts = 0;
  #idBytes = 0;
  #unminted: number[] = [];

  constructor(header: PartHeader) {
    this.#frame = frameBytes(header);
    this.#bytes = this.#frame;
  }

  /**
   * Adds the next document. Returns the previous part if the document did not fit into it. `isUnminted` says that the
   * document's id begins with `UNMINTED`.
   */
  add(document: SerializedDocument, isUnminted = false): PackedPart | null {
    const bytes = document.bytes + 1;
    const idBytes = utf8Length(document.id) + ID_FRAME_BYTES;
    const full =
      this.#count > 0 &&
      (this.#bytes + bytes > MAX_PART_BYTES ||
        this.#count >= MAX_PART_DOCUMENTS ||
        this.#contexts + document.contexts > MAX_PART_CONTEXTS ||
        this.#idBytes + idBytes > MAX_PART_ID_BYTES);
    const part = full ? this.flush() : null;
    this.#write(document, isUnminted);
    this.#count += 1;
    this.#bytes += bytes;
    this.#contexts += document.contexts;
    this.#idBytes += idBytes;
    return part;
  }

  /** Returns the last part; `null` if no document is left. */
  flush(): PackedPart | null {
    if (this.#count === 0) return null;
    const documentsJson = this.#documentsJson.subarray(0, this.#written);
    const part = { documentsJson, count: this.#count, bytes: this.#bytes, unminted: this.#unminted };
    this.#documentsJson = new Uint8Array(0);
    this.#written = 0;
    this.#count = 0;
    this.#bytes = this.#frame;
    this.#contexts = 0;
    this.#idBytes = 0;
    this.#unminted = [];
    return part;
  }

  #write(document: SerializedDocument, isUnminted: boolean): void {
    if (this.#count === 0) this.#documentsJson = new Uint8Array(Math.max(MAX_PART_BYTES, document.bytes));
    else this.#documentsJson[this.#written++] = COMMA;
    // Only ASCII precedes the id: its place and a few names.
    if (isUnminted) this.#unminted.push(this.#written + document.json.indexOf(UNMINTED));
    this.#written += this.#encoder.encodeInto(document.json, this.#documentsJson.subarray(this.#written)).written;
  }
}

const COMMA = 0x2c;

/** Whether one more message fits into the same `sendBatch` call (255,800 B, 100 messages). */
export function fitsSend(sent: { readonly bytes: number; readonly messages: number }, bytes: number): boolean {
  return sent.messages < MAX_SEND_MESSAGES && sent.bytes + bytes + MESSAGE_OVERHEAD_BYTES <= MAX_SEND_BYTES;
}
