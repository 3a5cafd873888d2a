import { err, ok, type Result } from "@sluice/core";
import { readDocument } from "@sluice/pipeline/document/sql/read-document.ts";
import * as z from "zod";
import type { Reader } from "../context.ts";
import { describeDocuments } from "../describe.ts";
import { allowsCollection, type ApiKey } from "../http/keys.ts";
import type { Problem } from "../http/problems.ts";
import { viewParameters } from "../http/query.ts";

export const documentQuery = z.strictObject(viewParameters);

export interface DocumentKey {
  readonly key: ApiKey;
  readonly collection: string;
  readonly id: string;
}

/** By then a document that was just pushed is usually recorded. */
const RECORDED_AFTER_SECONDS = "5";

export const DOCUMENT_NOT_FOUND: Problem = {
  name: "not-found",
  detail:
    "The collection has no document with this id. If it was just pushed, it may not be recorded yet: try again soon, " +
    "or read its submission.",
  headers: { "retry-after": RECORDED_AFTER_SECONDS },
};

/** A document as JSON text, with its metadata as it was pushed. */
export async function getDocument(
  context: Reader,
  { key, collection, id, query }: DocumentKey & { readonly query: z.output<typeof documentQuery> },
): Promise<Result<string, Problem>> {
  const { top_k: topK = null, include = [] } = query;
  const row = allowsCollection(key, collection)
    ? await readDocument(context.db, { collection, id }, include.includes("text"))
    : null;
  if (row === null) return err(DOCUMENT_NOT_FOUND);
  const [document = ""] = await describeDocuments(context, [row], { topK, include });
  return ok(document);
}
