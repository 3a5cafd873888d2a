import {
  err,
  nameDocument,
  ok,
  parseDocument,
  serializeDocument,
  type Document,
  type FieldProblem,
  type Result,
  type SerializedDocument,
  type SubmissionId,
} from "@sluice/core";
import type { PushOptions } from "./options.ts";

/** Stands where a submission's id will: it has as many bytes, and that is all that packing needs. */
export const UNMINTED = "sub_00000000-0000-7000-8000-000000000000" as SubmissionId;

/** A document that was checked whole, its size included. */
export interface AcceptedDocument {
  readonly document: Document;
  /** From 0 in the push. */
  readonly place: number;
  /** Under its own id, or one of the same length where that has to wait for the submission's. */
  readonly serialized: SerializedDocument;
}

/** Checks a parsed JSON value as the document at `place` of a push. Problems are told from its root. */
export function acceptDocument(
  value: unknown,
  place: number,
  options: Pick<PushOptions, "model" | "truncateInputs">,
): Result<AcceptedDocument, readonly FieldProblem[]> {
  const document = parseDocument(value, options);
  if (!document.ok) return document;
  const id = document.value.id ?? nameDocument(UNMINTED, place);
  const serialized = serializeDocument(document.value, id, place);
  return serialized.ok
    ? ok({ document: document.value, place, serialized: serialized.value })
    : err([serialized.error]);
}

/** The document as it is sent, once its submission has an id. */
export function serializeAccepted(
  { document, place, serialized }: AcceptedDocument,
  id: SubmissionId,
): SerializedDocument {
  if (document.id !== null) return serialized;
  const named = serializeDocument(document, nameDocument(id, place), place);
  if (!named.ok) throw new Error("an id of the same length changed a document's size");
  return named.value;
}
