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
import type { ApiContext } from "./context.ts";
import { contextOf, newRequestId, type Env } from "./env.ts";
import { readStream, type BodyPiece } from "./http/body.ts";
import { scopes, type ApiKey } from "./http/keys.ts";
import { invalid, type Problem } from "./http/problems.ts";
import { parseParameters } from "./http/query.ts";
import { unexpected } from "./http/unexpected.ts";
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
    const { text } = valueOf(await run(this.env, (context) => pushDocuments(context, input)));
    return JSON.parse(text) as PushAccepted;
  }

  async document(collection: string, id: string, view: RpcView = {}): Promise<Document | null> {
    const query = parse(documentQuery, viewTexts(view));
    const input = { key: BOUND, collection: idOf(collection, "collection"), id: idOf(id), query };
    const text = valueOrNull(await run(this.env, (context) => getDocument(context, input)));
    return text === null ? null : (parseAnswer(text) as Document);
  }

  async results(submission: string, options: RpcResultsOptions = {}): Promise<Page<Document> | null> {
    const input = { key: BOUND, id: idOf(submission), query: parse(resultsQuery, viewTexts(options)) };
    const page = valueOrNull(await run(this.env, (context) => listResults(context, input)));
    return page && { ...page, data: page.data.map((text) => parseAnswer(text) as Document) };
  }

  async submission(id: string): Promise<Submission | null> {
    const input = { key: BOUND, id: idOf(id) };
    return valueOrNull(await run(this.env, (context) => getSubmission(context, input)));
  }

  async cancel(submission: string): Promise<Submission | null> {
    const input = { key: BOUND, id: idOf(submission) };
    return valueOrNull(await run(this.env, (context) => cancelSubmission(context, input)));
  }

  async collection(name: string): Promise<Collection | null> {
    return valueOrNull(await getCollection(contextOf(this.env), { key: BOUND, collection: name }));
  }

  async deleteCollection(name: string): Promise<CollectionDeletion | null> {
    return valueOrNull(await deleteCollection(contextOf(this.env), { key: BOUND, collection: name }));
  }

  async stats(): Promise<Stats> {
    return valueOf(await run(this.env, (context) => getStats(context, { key: BOUND })));
  }

  async malformed(options: RpcListOptions = {}): Promise<Page<MalformedMessage>> {
    const query = parse(malformedQuery, { ...options });
    return valueOf(await run(this.env, (context) => listMalformed(context, { key: BOUND, query })));
  }

  async replayMalformed(id: string): Promise<Replayed | null> {
    const input = { key: BOUND, id: idOf(id) };
    return valueOrNull(await run(this.env, (context) => replayMalformed(context, input)));
  }

  async discardMalformed(id: string): Promise<boolean> {
    const input = { key: BOUND, id: idOf(id) };
    const discarded = await run(this.env, (context) => discardMalformed(context, input));
    if (!discarded.ok && discarded.error.name === "not-found") return false;
    valueOf(discarded);
    return true;
  }
}

/** The result of a verb. An exception is logged, and is the problem that HTTP answers with. */
async function run<Value>(
  env: Env,
  verb: (context: ApiContext) => Promise<Result<Value, Problem>>,
): Promise<Result<Value, Problem>> {
  const context = contextOf(env);
  try {
    return await verb(context);
  } catch (error) {
    return err(unexpected(error, context, newRequestId()));
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

/** Options with the names that HTTP gives them. Those that it does not know stay, and are refused. */
function viewTexts({ topK, include = [], ...others }: RpcResultsOptions): Values {
  return { top_k: topK, include: include.length === 0 ? undefined : String(include), ...others };
}

/** An argument that is an id. Callers' types are not checked at run time. */
function idOf(argument: unknown, name = "id"): string {
  if (typeof argument === "string") return argument;
  return valueOf(err(invalid([{ pointer: `{${name}}`, detail: "must be a string" }])));
}

function parse<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  options: Values,
): z.output<z.ZodObject<Shape, z.core.$strict>> {
  const query = parseParameters(schema, texts(options));
  return valueOf(query.ok ? query : err(invalid(query.error)));
}

/**
 * Throws a problem as an `Error`. Its `name` stays as it is: a name of our own reaches only some callers, depending on
 * their compatibility date and process, and for the others it becomes the beginning of the message.
 */
function valueOf<Value>(result: Result<Value, Problem>): Value {
  if (result.ok) return result.value;
  const { name, detail, members } = result.error;
  const request = members?.["request_id"] === undefined ? "" : ` request_id: ${members["request_id"]}`;
  throw new Error(`${name}: ${detail}${request}`);
}

/** `null`: not found. */
function valueOrNull<Value>(result: Result<Value, Problem>): Value | null {
  return !result.ok && result.error.name === "not-found" ? null : valueOf(result);
}
