import { WorkerEntrypoint } from "cloudflare:workers";
import { parseAnswer } from "@sluice/client/parse-answer";
import type {
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
import { dependencies, type Env } from "./env.ts";
import { cancelSubmission } from "./handlers/cancel-submission.ts";
import { getDocument } from "./handlers/get-document.ts";
import { getStats } from "./handlers/get-stats.ts";
import { getSubmission } from "./handlers/get-submission.ts";
import { discardMalformed, listMalformed, replayMalformed } from "./handlers/malformed.ts";
import { listResults } from "./handlers/list-results.ts";
import { postDocuments } from "./handlers/post-documents.ts";
import type { Handler } from "./context.ts";
import { scopes, type ApiKey } from "./http/keys.ts";
import { JSON_TYPE, NDJSON_TYPES } from "./http/respond.ts";
import { writeIdempotencyKey } from "./push/idempotency.ts";

/** A service binding is its own credential: who is bound may do everything. No configured key has this name. */
const BOUND: ApiKey = { name: "", sha256: new Uint8Array(32), scopes, collections: null };

/** See `SluiceService`. */
export class Sluice extends WorkerEntrypoint<Env> implements SluiceService {
  async push(
    documents: DocumentIn | readonly DocumentIn[] | ReadableStream<Uint8Array>,
    options: RpcPushOptions = {},
  ): Promise<PushAccepted> {
    const { idempotencyKey, ...parameters } = options;
    const stream = documents instanceof ReadableStream;
    const headers = new Headers({ "content-type": stream ? NDJSON_TYPES[0] : JSON_TYPE });
    if (idempotencyKey !== undefined) headers.set("idempotency-key", writeIdempotencyKey(idempotencyKey));
    const list = Array.isArray(documents) ? documents : [documents];
    const body = stream ? documents : JSON.stringify({ documents: list, ...parameters });
    const query = stream ? { ...parameters } : {};
    return read(await this.#call(postDocuments, {}, query, { method: "POST", headers, body }));
  }

  async document(collection: string, id: string, view: RpcView = {}): Promise<Document | null> {
    return readOrNull(await this.#call(getDocument, { collection, id }, viewQuery(view)));
  }

  async results(submission: string, options: RpcResultsOptions = {}): Promise<Page<Document> | null> {
    const { status, limit, cursor, ...view } = options;
    return readOrNull(await this.#call(listResults, { id: submission }, { status, limit, cursor, ...viewQuery(view) }));
  }

  async submission(id: string): Promise<Submission | null> {
    return readOrNull(await this.#call(getSubmission, { id }, {}));
  }

  async cancel(submission: string): Promise<Submission | null> {
    return readOrNull(await this.#call(cancelSubmission, { id: submission }, {}, { method: "POST" }));
  }

  async stats(): Promise<Stats> {
    return read(await this.#call(getStats, {}, {}));
  }

  async malformed({ limit, cursor }: RpcListOptions = {}): Promise<Page<MalformedMessage>> {
    return read(await this.#call(listMalformed, {}, { limit, cursor }));
  }

  async replayMalformed(id: string): Promise<Replayed | null> {
    return readOrNull(await this.#call(replayMalformed, { id }, {}, { method: "POST" }));
  }

  async discardMalformed(id: string): Promise<boolean> {
    const response = await this.#call(discardMalformed, { id }, {}, { method: "DELETE" });
    if (response.status !== 204 && response.status !== 404) await read(response);
    return response.status === 204;
  }

  #call(
    handle: Handler,
    parameters: Readonly<Record<string, string>>,
    query: Query,
    init: RequestInit<RequestInitCfProperties> = {},
  ): Promise<Response> {
    const url = new URL("https://sluice.internal/");
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return handle(dependencies(this.env), { request: new Request(url, init), url, parameters, key: BOUND });
  }
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

function viewQuery({ topK, include }: RpcView): Query {
  return { top_k: topK, include: include === undefined || include.length === 0 ? undefined : include.join(",") };
}

async function read<T>(response: Response): Promise<T> {
  if (response.ok) return parseAnswer(await response.text()) as T;
  const { type, detail } = await response.json<{ readonly type: string; readonly detail: string }>();
  const error = new Error(`${type.slice(type.lastIndexOf("/") + 1)}: ${detail}`);
  error.name = "SluiceError";
  throw error;
}

async function readOrNull<T>(response: Response): Promise<T | null> {
  return response.status === 404 ? null : read<T>(response);
}
