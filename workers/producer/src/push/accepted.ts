import {
  err,
  nameDocument,
  ok,
  parseDocument,
  renameDocument,
  serializeDocument,
  type FieldProblem,
  type Result,
  type SerializedDocument,
  type SubmissionId,
} from "@sluice/core";
import type { PushOptions } from "./options.ts";

/** Stands where a submission's id will: it has as many bytes, and that is all that packing needs. */
export const UNMINTED = "sub_00000000-0000-7000-8000-000000000000" as SubmissionId;

/** A document that was checked whole, its size included. What was parsed is let go: only its JSON is held. */
export interface AcceptedDocument {
  /** `null`: it is named after its submission, once that has an id. */
  readonly id: string | null;
  /** From 0 in the push. */
  readonly place: number;
  /** Under its own id, or one of the same length where that has to wait for the submission's. */
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

/** The document as it is sent, once its submission has an id. */
export function serializeAccepted(
  { id, place, serialized }: AcceptedDocument,
  submission: SubmissionId,
): SerializedDocument {
  return id === null ? renameDocument(serialized, nameDocument(submission, place)) : serialized;
}

/** Whether a parsed document has metadata, so that its text is worth looking for. */
export function hasMetadata(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "metadata");
}
