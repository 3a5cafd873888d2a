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

/** A document that was checked whole, its size included. What was parsed is let go: only its JSON is held. */
export interface AcceptedDocument {
  /** `null`: it is named after its submission, once that has an id. */
  readonly id: string | null;
  /** From 0 in the push. */
  readonly place: number;
  /** Under its own id, or that of the unminted submission. */
  readonly serialized: SerializedDocument;
}

/**
 * Checks a parsed JSON value as the document at `place` of a push. `metadata` is the text of its member of
 * that name. Pointers of problems begin at the document's root.
 */
export function acceptDocument(
  value: unknown,
  metadata: string | null,
  place: number,
  options: Pick<PushOptions, "model" | "truncateInputs">,
): Result<AcceptedDocument, readonly FieldProblem[]> {
  const document = parseDocument(value, metadata, options);
  if (!document.ok) return document;
  const { id } = document.value;
  const serialized = serializeDocument(document.value, id ?? nameDocument(UNMINTED, place), place);
  return serialized.ok ? ok({ id, place, serialized: serialized.value }) : err([serialized.error]);
}

/** Whether a parsed document has metadata, so that its text is worth looking for. */
export function hasMetadata(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "metadata");
}
