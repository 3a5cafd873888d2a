import { err, memberText, memberTexts, ok, MAX_JSON_BODY_BYTES, type FieldProblem, type Result } from "@sluice/core";
import { readText, type BodyPiece } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { invalid, type Problem } from "../http/problems.ts";
import { acceptDocument, hasMetadata, type AcceptedDocument } from "./accepted.ts";
import { fillOptions, mergeOptions, parseEnvelope, type GivenOptions, type PushOptions } from "./options.ts";

/** More would not help the reader. */
const MOST_PROBLEMS = 20;

interface JsonPush {
  readonly options: PushOptions;
  readonly documents: AcceptedDocument[];
}

/** Reads a JSON body: a document, or many with the options of the push. All of it is valid, or nothing is. */
export async function readJsonPush(
  body: AsyncIterable<BodyPiece>,
  query: GivenOptions,
): Promise<Result<JsonPush, Problem>> {
  const text = await readText(body, MAX_JSON_BODY_BYTES, "send more as application/x-ndjson, a document a line");
  if (!text.ok) return text;
  const value = parseJson(text.value);
  if (!value.ok) return err({ name: "not-json", detail: `It ${value.error}.` });
  const push = checkPush(text.value, value.value, query);
  return push.ok ? push : err(invalid(push.error));
}

/** `value` is what `text` holds. */
function checkPush(text: string, value: unknown, query: GivenOptions): Result<JsonPush, readonly FieldProblem[]> {
  if (Array.isArray(value)) {
    return err([{ pointer: "", detail: 'a list of documents goes into an object: { "documents": [...] }' }]);
  }
  if (!isEnvelope(value)) {
    const metadata = hasMetadata(value) ? [memberText(text, "metadata")] : [];
    return checkDocuments([value], metadata, "", fillOptions(query, 1));
  }
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const given = mergeOptions(query, envelope.value.options);
  if (!given.ok) return given;
  const { documents } = envelope.value;
  // A second pass over the body, for those that need it.
  const metadata = documents.some(hasMetadata) ? memberTexts(text, "documents", "metadata") : [];
  return checkDocuments(documents, metadata, "/documents", fillOptions(given.value, documents.length));
}

/** With a query or contexts beside them, `documents` is a document's contexts under another API's name. */
function isEnvelope(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "documents")) return false;
  return !Object.hasOwn(value, "query") && !Object.hasOwn(value, "contexts");
}

/**
 * `metadata` holds the text of each document's metadata, if any has some. `list` is the pointer to the list
 * of documents; `""` where the body is the document.
 */
function checkDocuments(
  values: readonly unknown[],
  metadata: readonly (string | null)[],
  list: string,
  options: PushOptions,
): Result<JsonPush, readonly FieldProblem[]> {
  const documents: AcceptedDocument[] = [];
  const problems: FieldProblem[] = [];
  const places = new Map<string, number>();
  for (const [place, value] of values.entries()) {
    const prefix = list === "" ? "" : `${list}/${place}`;
    const accepted = acceptDocument(value, metadata[place] ?? null, place, options);
    if (accepted.ok) {
      documents.push(accepted.value);
      const { id } = accepted.value;
      const earlier = id === null ? undefined : places.get(id);
      if (earlier !== undefined) {
        problems.push({
          pointer: `${prefix}/id`,
          detail: `this id is that of ${list}/${earlier} too: ids are unique in a push`,
        });
      } else if (id !== null) {
        places.set(id, place);
      }
    } else {
      problems.push(...accepted.error.map(({ pointer, detail }) => ({ pointer: prefix + pointer, detail })));
    }
    if (problems.length >= MOST_PROBLEMS) break;
  }
  return problems.length > 0 ? err(problems.slice(0, MOST_PROBLEMS)) : ok({ options, documents });
}
