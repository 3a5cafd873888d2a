import { err, memberText, memberTexts, ok, MAX_JSON_BODY_BYTES, type FieldProblem, type Result } from "@sluice/core";
import { decodeText, readBytes, type BodyPiece } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import { invalid, MAX_ERRORS, type Problem } from "../http/problems.ts";
import { acceptDocument, hasMetadata } from "./accepted.ts";
import { findDocumentList, type DocumentList } from "./document-list.ts";
import { HeldDocuments } from "./held-documents.ts";
import { fillOptions, mergeOptions, parseEnvelope, type GivenOptions, type PushOptions } from "./options.ts";

interface JsonPush {
  readonly options: PushOptions;
  readonly documents: HeldDocuments;
}

/**
 * Reads a JSON body: a document, or a list with the options of the push, all or nothing. A large body is kept as bytes and
 * its documents are parsed one by one: text and parsed values of all of them would take three times the memory. A body
 * that is not valid that way is parsed whole to say why.
 */
export async function readJsonPush(
  body: AsyncIterable<BodyPiece>,
  query: GivenOptions,
): Promise<Result<JsonPush, Problem>> {
  const bytes = await readBytes(body, MAX_JSON_BODY_BYTES, "send more as application/x-ndjson, one document per line");
  if (!bytes.ok) return bytes;
  const accepted = acceptList(bytes.value, query);
  const push = accepted === null ? readWhole(bytes.value, query) : ok(accepted);
  // Frees the memory now: a garbage collection would free it much later, beside the next body's.
  bytes.value.buffer.transfer(0);
  return push;
}

/** A body with one document, or one that is not valid: then the problem says why. */
function readWhole(bytes: Uint8Array, query: GivenOptions): Result<JsonPush, Problem> {
  const text = decodeText(bytes);
  if (!text.ok) return text;
  const value = parseJson(text.value);
  if (!value.ok) return err({ name: "not-json", detail: `The body ${value.error}.` });
  const push = checkPush(text.value, value.value, query);
  return push.ok ? push : err(invalid(push.error));
}

/** The push of a valid envelope; `null` for any other body. */
function acceptList(bytes: Uint8Array, query: GivenOptions): JsonPush | null {
  const list = findDocumentList(bytes);
  if (list === null) return null;
  const head = parseJson(list.envelope);
  if (!head.ok || !isEnvelope(head.value)) return null;
  const envelope = parseEnvelope(head.value);
  if (!envelope.ok) return null;
  const given = mergeOptions(query, envelope.value.options);
  if (!given.ok) return null;
  const push = checkDocuments(parsed(list), "/documents", fillOptions(given.value, list.count), 1);
  return push.ok ? push.value : null;
}

/** A parsed document, with the text of its metadata if it has some. */
interface ParsedEntry {
  readonly value: unknown;
  readonly metadata: string | null;
}

function parsedEntry(value: unknown, text: string): ParsedEntry {
  return { value, metadata: hasMetadata(value) ? memberText(text, "metadata") : null };
}

/** The documents of a list; `undefined` for one that is not JSON. */
function* parsed(list: DocumentList): Generator<ParsedEntry> {
  for (const text of list.texts()) {
    const value = parseJson(text ?? "");
    yield value.ok ? parsedEntry(value.value, text ?? "") : { value: undefined, metadata: null };
  }
}

/** `value` is the parsed `text`. */
function checkPush(text: string, value: unknown, query: GivenOptions): Result<JsonPush, readonly FieldProblem[]> {
  if (Array.isArray(value)) {
    return err([{ pointer: "", detail: 'a list of documents goes into an object: { "documents": [...] }' }]);
  }
  if (!isEnvelope(value)) return checkDocuments([parsedEntry(value, text)], "", fillOptions(query, 1));
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const given = mergeOptions(query, envelope.value.options);
  if (!given.ok) return given;
  const { documents } = envelope.value;
  const metadata = documents.some(hasMetadata) ? memberTexts(text, "documents", "metadata") : [];
  const entries = documents.map((document, index) => ({ value: document, metadata: metadata[index] ?? null }));
  return checkDocuments(entries, "/documents", fillOptions(given.value, documents.length));
}

/** With a query or contexts beside it, `documents` is another API's name for the contexts of one document. */
function isEnvelope(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, "documents")) return false;
  return !Object.hasOwn(value, "query") && !Object.hasOwn(value, "contexts");
}

/**
 * `list` is the pointer to the list of documents; `""` if the body is one document. Ends after `maxProblems`.
 */
function checkDocuments(
  entries: Iterable<ParsedEntry>,
  list: string,
  options: PushOptions,
  maxProblems = MAX_ERRORS,
): Result<JsonPush, readonly FieldProblem[]> {
  const documents = new HeldDocuments();
  const problems: FieldProblem[] = [];
  const indexes = new Map<string, number>();
  let index = -1;
  for (const { value, metadata } of entries) {
    index += 1;
    const prefix = list === "" ? "" : `${list}/${index}`;
    const accepted = acceptDocument(value, metadata, index, options);
    if (accepted.ok) {
      documents.add(accepted.value);
      const { id } = accepted.value;
      const earlier = id === null ? undefined : indexes.get(id);
      if (earlier !== undefined) {
        problems.push({
          pointer: `${prefix}/id`,
          detail: `${list}/${earlier} has this id too: ids must be unique in a push`,
        });
      } else if (id !== null) {
        indexes.set(id, index);
      }
    } else {
      problems.push(...accepted.error.map(({ pointer, detail }) => ({ pointer: prefix + pointer, detail })));
    }
    if (problems.length >= maxProblems) break;
  }
  return problems.length > 0 ? err(problems.slice(0, maxProblems)) : ok({ options, documents });
}
