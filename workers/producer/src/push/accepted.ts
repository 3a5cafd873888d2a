import {
  err,
  nameDocument,
  ok,
  parseDocument,
  serializeDocument,
  type FieldProblem,
  type Result,
  type SerializedDocument,
} from "@sluice/core";
import { UNMINTED } from "@sluice/pipeline/message/message.ts";
import type { PushOptions } from "./options.ts";

/** A document that was validated, including its size. Only its JSON is kept, not the parsed value. */
export interface AcceptedDocument {
  /** `null`: it is named after its submission once that is open. */
  readonly id: string | null;
  /** From 0 in the push. */
  readonly index: number;
  /** Under its own id, or named after `UNMINTED`. */
  readonly serialized: SerializedDocument;
}

/**
 * Validates a parsed JSON value as the document at `index` of a push. `metadata` is the text of its member of that name.
 * Pointers of problems start at the document's root.
 */
export function acceptDocument(
  value: unknown,
  metadata: string | null,
  index: number,
  options: Pick<PushOptions, "model" | "truncateInputs">,
): Result<AcceptedDocument, readonly FieldProblem[]> {
  const document = parseDocument(value, metadata, options);
  if (!document.ok) return document;
  const { id } = document.value;
  const serialized = serializeDocument(document.value, id ?? nameDocument(UNMINTED, index), index);
  return serialized.ok ? ok({ id, index, serialized: serialized.value }) : err([serialized.error]);
}

/** Whether a parsed document has metadata, whose text is then looked up. */
export function hasMetadata(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "metadata");
}
