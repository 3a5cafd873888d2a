import { WorkerEntrypoint } from "cloudflare:workers";
import { err, MAX_JSON_BODY_BYTES, ok, type Result } from "@sluice/core";
import { parseAnswer } from "@sluice/client/parse-answer";
import type {
  Collection,
  CollectionDeletion,
  Document,
  DocumentIn,
  MalformedMessage,
  Page,
  PushAccepted,
  Replayed,
  RpcListOptions,
  RpcPushOptions,
  RpcResultsOptions,
  RpcView,
  SluiceService,
  Stats,
  Submission,
} from "@sluice/client/types";
import type * as z from "zod";
import { contextOf, type Env } from "./env.ts";
import { readStream, type BodyPiece } from "./http/body.ts";
import { scopes, type ApiKey } from "./http/keys.ts";
import { invalid, type Problem } from "./http/problems.ts";
import { parseParameters } from "./http/query.ts";
import { checkIdempotencyKey } from "./push/idempotency.ts";
import { pushQuerySchema } from "./push/options.ts";
import { cancelSubmission } from "./verbs/cancel-submission.ts";
import { deleteCollection } from "./verbs/delete-collection.ts";
import { discardMalformed } from "./verbs/discard-malformed.ts";
import { getCollection } from "./verbs/get-collection.ts";
import { documentQuery, getDocument } from "./verbs/get-document.ts";
import { getStats } from "./verbs/get-stats.ts";
import { getSubmission } from "./verbs/get-submission.ts";
import { listMalformed, malformedQuery } from "./verbs/list-malformed.ts";
import { listResults, resultsQuery } from "./verbs/list-results.ts";
import { pushDocuments, type PushInput } from "./verbs/push-documents.ts";
import { replayMalformed } from "./verbs/replay-malformed.ts";

/** A service binding is its own credential: a bound Worker may do everything. No configured key has this name. */
const BOUND: ApiKey = { name: "", sha256: new Uint8Array(32), scopes, collections: null };

/** See `SluiceService`. Each method calls the verb that its HTTP route calls. */
export class Sluice extends WorkerEntrypoint<Env> implements SluiceService {
  async push(
    documents: DocumentIn | readonly DocumentIn[] | ReadableStream<Uint8Array>,
    options: RpcPushOptions = {},
  ): Promise<PushAccepted> {
    const input = valueOf(pushInput(documents, options));
    const { text } = valueOf(await pushDocuments(contextOf(this.env), input));
    return JSON.parse(text) as PushAccepted;
  }

  async document(collection: string, id: string, view: RpcView = {}): Promise<Document | null> {
    const query = parse(documentQuery, viewTexts(view));
    const text = valueOrNull(await getDocument(contextOf(this.env), { key: BOUND, collection, id, query }));
    return text === null ? null : (parseAnswer(text) as Document);
  }

  async results(submission: string, options: RpcResultsOptions = {}): Promise<Page<Document> | null> {
    const { status, limit, cursor, ...view } = options;
    const query = parse(resultsQuery, { status, limit, cursor, ...viewTexts(view) });
    const page = valueOrNull(await listResults(contextOf(this.env), { key: BOUND, id: submission, query }));
    return page && { ...page, data: page.data.map((text) => parseAnswer(text) as Document) };
  }

  async submission(id: string): Promise<Submission | null> {
    return valueOrNull(await getSubmission(contextOf(this.env), { key: BOUND, id }));
  }

  async cancel(submission: string): Promise<Submission | null> {
    return valueOrNull(await cancelSubmission(contextOf(this.env), { key: BOUND, id: submission }));
  }

  async collection(name: string): Promise<Collection | null> {
    return valueOrNull(await getCollection(contextOf(this.env), { key: BOUND, collection: name }));
  }

  async deleteCollection(name: string): Promise<CollectionDeletion | null> {
    return valueOrNull(await deleteCollection(contextOf(this.env), { key: BOUND, collection: name }));
  }

  async stats(): Promise<Stats> {
    return valueOf(await getStats(contextOf(this.env), { key: BOUND }));
  }

  async malformed({ limit, cursor }: RpcListOptions = {}): Promise<Page<MalformedMessage>> {
    const query = parse(malformedQuery, { limit, cursor });
    return valueOf(await listMalformed(contextOf(this.env), { key: BOUND, query }));
  }

  async replayMalformed(id: string): Promise<Replayed | null> {
    return valueOrNull(await replayMalformed(contextOf(this.env), { key: BOUND, id }));
  }

  async discardMalformed(id: string): Promise<boolean> {
    const discarded = await discardMalformed(contextOf(this.env), { key: BOUND, id });
    if (!discarded.ok && discarded.error.name === "not-found") return false;
    valueOf(discarded);
    return true;
  }
}

function pushInput(
  documents: DocumentIn | readonly DocumentIn[] | ReadableStream<Uint8Array>,
  { idempotencyKey, ...options }: RpcPushOptions,
): Result<PushInput, Problem> {
  const key = idempotencyKey === undefined ? ok(null) : checkIdempotencyKey(idempotencyKey);
  if (!key.ok) return key;
  const push = { key: BOUND, idempotencyKey: key.value };
  if (documents instanceof ReadableStream) {
    const query = parseParameters(pushQuerySchema, texts(options));
    if (!query.ok) return err(invalid(query.error));
    const body = readStream(documents);
    return ok({ ...push, kind: "ndjson", query: query.value, body, bytes: MAX_JSON_BODY_BYTES, declared: 0 });
  }
  const list = Array.isArray(documents) ? documents : [documents];
  const json = new TextEncoder().encode(JSON.stringify({ documents: list, ...options }));
  return ok({ ...push, kind: "json", query: {}, body: onePiece(json), bytes: json.length, declared: json.length });
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<BodyPiece> {
  yield bytes;
}

type Values = Readonly<Record<string, string | number | boolean | undefined>>;

/** Options as texts, as in a query string: one schema validates both. */
function texts(options: Values): Record<string, string> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function viewTexts({ topK, include }: RpcView): Values {
  return { top_k: topK, include: include === undefined || include.length === 0 ? undefined : include.join(",") };
}

function parse<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  options: Values,
): z.output<z.ZodObject<Shape, z.core.$strict>> {
  const query = parseParameters(schema, texts(options));
  return valueOf(query.ok ? query : err(invalid(query.error)));
}

/** Throws a problem as a `SluiceError`. */
function valueOf<Value>(result: Result<Value, Problem>): Value {
  if (result.ok) return result.value;
  const error = new Error(`${result.error.name}: ${result.error.detail}`);
  error.name = "SluiceError";
  throw error;
}

/** `null`: not found. */
function valueOrNull<Value>(result: Result<Value, Problem>): Value | null {
  return !result.ok && result.error.name === "not-found" ? null : valueOf(result);
}
