import type { Fetch } from "../src/index.ts";
import type {
  CollectionDeletion,
  Document,
  DocumentIn,
  MalformedMessage,
  Page,
  Pause,
  PushAccepted,
  RejectedLine,
  Scorer,
  Submission,
} from "../src/types.ts";
import { collectionOf, documentOf, jobOf, statsOf, submissionOf } from "./shapes.ts";

/** A request as it arrived, with its body unpacked. */
export interface Received {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly text: string;
}

type Responder = (request: Request) => Response | Promise<Response>;

export const KEY = "sluice_test";
const MAX_REJECTED = 100;
const STARTED = { requested_at: "2026-01-01T00:00:00.000Z", through: "sub_0001", completed_at: null };

export function problem(
  status: number,
  name: string,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Response {
  const body = {
    type: `/problems/${name}`,
    title: `Title of ${name}`,
    status,
    detail: `Detail of ${name}.`,
    errors: [],
    ...more,
  };
  return Response.json(body, { status, headers: { "content-type": "application/problem+json", ...headers } });
}

/**
 * An in-memory API, as far as the client can observe it. Documents whose query is "fail" fail; the others succeed. A
 * submission's documents end after `looks` reads of it.
 */
export class FakeApi {
  readonly received: Received[] = [];
  /** Answers to return instead of the API's own, in order. */
  readonly instead: Responder[] = [];
  scorer: Scorer = "workers-ai";
  readonly submissions = new Map<string, { submission: Submission; documents: Document[]; looks: number }>();
  readonly #answers = new Map<string, { readonly body: string; readonly text: string }>();
  readonly #pauses: Pause[] = [];
  readonly malformed: MalformedMessage[] = [];
  /** Ids of quarantined messages that no queue accepts. */
  readonly unplaceable = new Set<string>();
  readonly deletions = new Map<string, CollectionDeletion>();
  looks = 1;
  #awaited: { left: number; readonly resolve: () => void }[] = [];

  /** Waits until this number of further requests has arrived. */
  arrival(count = 1): Promise<void> {
    return new Promise((resolve) => this.#awaited.push({ left: count, resolve }));
  }

  readonly fetch: Fetch = async (input, init) => {
    const request = new Request(input, init);
    const responder = this.instead.shift();
    for (const awaited of this.#awaited) {
      awaited.left -= 1;
      if (awaited.left === 0) awaited.resolve();
    }
    if (responder !== undefined) return responder(request);
    const text = await bodyOf(request);
    const url = new URL(request.url);
    this.received.push({ method: request.method, url, headers: request.headers, text });
    if (url.pathname === "/healthz") return Response.json({ status: "ok" });
    if (request.headers.get("authorization") !== `Bearer ${KEY}`) return problem(401, "unauthorized");
    return this.#route(request, url, text) ?? problem(404, "not-found");
  };

  /** Marks this number of a submission's documents as stalled. */
  stall(id: string, missing: number): void {
    const found = this.submissions.get(id);
    if (found === undefined) throw new Error(`there is no ${id}`);
    const stalled = { missing, since: "2026-01-01T00:00:00.000Z" };
    found.submission = { ...found.submission, stalled };
  }

  #route(request: Request, url: URL, text: string): Response | null {
    const [, , root = "", id = "", action = ""] = url.pathname.split("/").map(decodeURIComponent);
    const rest = url.pathname.split("/").slice(5).map(decodeURIComponent);
    const { method } = request;
    if (method === "POST" && root === "documents") return this.#push(request, url, text);
    if (root === "submissions" && id === "") return this.#listSubmissions(url);
    if (root === "submissions") return this.#submission(method, id, action, url);
    if (root === "collections" && action === "") return this.#collection(method, id);
    if (root === "collections" && action === "documents") return this.#document(method, id, rest[0], url);
    if (root === "results") return page(this.#all(), url);
    if (root === "jobs")
      return id === "" ? page([jobOf()], url) : id === "job_nope" ? null : Response.json(jobOf({ id }));
    if (root === "malformed") return this.#malformed(id, method === "DELETE" ? "discard" : "replay", url);
    if (root === "stats") return Response.json(statsOf(this.#pauses, this.scorer));
    if (method === "POST" && (root === "pause" || root === "resume")) return this.#pause(root, text);
    return null;
  }

  #push(request: Request, url: URL, text: string): Response {
    const key = request.headers.get("idempotency-key");
    const earlier = key === null ? undefined : this.#answers.get(key);
    if (earlier !== undefined) {
      if (earlier.body !== text) return problem(422, "idempotency-key-reused");
      return Response.json(JSON.parse(earlier.text), { status: 202, headers: { "idempotency-replayed": "true" } });
    }
    const id = `sub_${String(this.submissions.size + 1).padStart(4, "0")}`;
    const documents: Document[] = [];
    const rejected: RejectedLine[] = [];
    for (const [index, line] of text.split("\n").slice(0, -1).entries()) {
      if (line.trim() === "") continue;
      const document = readDocument(line);
      if (document === null) rejected.push({ line: index + 1, detail: "query must be a string" });
      else documents.push(documentOf({ ...document, id: document.id ?? `${id}-${index}` }, id, url.searchParams));
    }
    const refusals = { rejected_count: rejected.length, rejected: rejected.slice(0, MAX_REJECTED) };
    if (documents.length === 0) {
      return problem(422, "nothing-acceptable", { errors: refusals.rejected, rejected_count: refusals.rejected_count });
    }
    const submission = submissionOf(id, documents, url.searchParams);
    this.submissions.set(id, { submission, documents, looks: 0 });
    const accepted: PushAccepted = { submission, documents: null, accepted: documents.length, ...refusals };
    if (key !== null) this.#answers.set(key, { body: text, text: JSON.stringify(accepted) });
    return Response.json(accepted, { status: 202, headers: { location: `/v1/submissions/${id}` } });
  }

  #listSubmissions(url: URL): Response {
    const label = url.searchParams.get("label");
    const found = [...this.submissions.values()]
      .map(({ submission }) => submission)
      .filter((one) => label === null || one.label === label)
      .filter((one) => {
        const status = url.searchParams.get("status") ?? one.status;
        return status === "stalled" ? one.stalled !== null : status === one.status;
      });
    return page(found.toReversed(), url);
  }

  #submission(method: string, id: string, action: string, url: URL): Response | null {
    const found = this.submissions.get(id);
    if (found === undefined) return null;
    const settle = (status: Submission["status"]) => {
      found.submission = {
        ...submissionOf(id, found.documents, url.searchParams, status),
        label: found.submission.label,
      };
    };
    if (method === "GET" && action === "") {
      found.looks += 1;
      if (found.looks > this.looks && found.submission.status === "queued") {
        found.documents = found.documents.map(ended);
        settle("completed");
      }
      return Response.json(found.submission);
    }
    if (method === "GET" && action === "results") {
      const status = url.searchParams.get("status");
      const texts = url.searchParams.getAll("include").includes("text");
      return page(
        found.documents
          .filter((one) => status === null || one.status === status)
          .map((one) => (texts ? withTexts(one) : one)),
        url,
      );
    }
    if (method !== "POST") return null;
    if (action === "cancel") {
      if (found.submission.status === "completed") return Response.json(found.submission);
      found.documents = found.documents.map((one) => ({ ...one, status: "canceled" }));
      settle("canceled");
      return Response.json(found.submission);
    }
    if (action !== "retry") return null;
    const failed = found.documents.filter((one) => one.status === "failed").length;
    return Response.json({ submission: found.submission, queued: failed, lost: 0 });
  }

  #collection(method: string, name: string): Response | null {
    const count = this.#all().filter((one) => one.collection === name).length;
    if (count === 0) return null;
    if (method === "DELETE") this.deletions.set(name, { ...STARTED, deleted_documents: count });
    const deletion = this.deletions.get(name) ?? null;
    return Response.json(method === "DELETE" ? deletion : collectionOf(name, deletion), {
      status: method === "DELETE" ? 202 : 200,
    });
  }

  #document(method: string, collection: string, id: string | undefined, url: URL): Response | null {
    const versions = this.#all().filter((one) => one.collection === collection);
    if (id === undefined) {
      const asked = url.searchParams.getAll("id");
      const found = asked.map((one) => versions.findLast((version) => version.id === one));
      return Response.json({
        data: found.filter((one) => one !== undefined),
        missing: asked.filter((_, index) => found[index] === undefined),
      });
    }
    const document = versions.findLast((one) => one.id === id);
    if (document === undefined) return null;
    if (method === "DELETE") return Response.json({ deleted: versions.filter((one) => one.id === id).length });
    return Response.json(document);
  }

  #pause(action: "pause" | "resume", text: string): Response {
    const target = text === "" ? {} : (JSON.parse(text) as { model?: string; submission?: string });
    const scope =
      target.model !== undefined
        ? `model:${target.model}`
        : target.submission !== undefined
          ? `submission:${target.submission}`
          : "all";
    const others = this.#pauses.filter((pause) => pause.scope !== scope);
    const asked: Pause = { scope, reason: "requested", message: null, since: "2026-01-01T00:00:00.000Z", until: null };
    const before = this.#pauses.find((pause) => pause.scope === scope) ?? null;
    this.#pauses.splice(0, this.#pauses.length, ...others, ...(action === "pause" ? [asked] : []));
    return Response.json(action === "pause" ? { data: this.#pauses } : { resumed: before, data: this.#pauses });
  }

  #malformed(id: string, action: "discard" | "replay", url: URL): Response | null {
    if (id === "") return page(this.malformed, url);
    const at = this.malformed.findIndex((message) => message.id === id);
    if (at < 0) return null;
    if (action === "replay" && this.unplaceable.has(id)) return problem(409, "conflict");
    this.malformed.splice(at, 1);
    return action === "discard" ? new Response(null, { status: 204 }) : Response.json({ replayed: 1 });
  }

  #all(): Document[] {
    return [...this.submissions.values()].flatMap(({ documents }) => documents);
  }
}

function ended(document: Document): Document {
  const finalized_at = "2026-01-01T00:01:00.000Z";
  if (document.query !== "fail") return { ...document, status: "succeeded", finalized_at };
  const error = { code: "model_error", message: "The model broke down.", retryable: true };
  return { ...document, status: "failed", scores: [], scored_submission_id: null, error, finalized_at };
}

/** The texts of contexts are not stored: any text will do. */
function withTexts(document: Document): Document {
  return { ...document, scores: document.scores.map((score) => ({ ...score, text: `text ${score.context_id}` })) };
}

function page(items: readonly unknown[], url: URL): Response {
  const start = Number(url.searchParams.get("cursor") ?? (url.searchParams.get("from") === "now" ? items.length : 0));
  const end = start + Number(url.searchParams.get("limit") ?? 50);
  // The feed's cursor moves even if there is nothing new.
  const isFeed = url.pathname === "/v1/results";
  const next_cursor = isFeed ? String(Math.min(end, items.length)) : end < items.length ? String(end) : null;
  return Response.json({ data: items.slice(start, end), next_cursor } satisfies Page<unknown>);
}

function readDocument(line: string): DocumentIn | null {
  try {
    const value = JSON.parse(line) as Partial<DocumentIn> | null;
    return typeof value?.query === "string" && Array.isArray(value.contexts) ? (value as DocumentIn) : null;
  } catch {
    return null;
  }
}

async function bodyOf(request: Request): Promise<string> {
  if (request.headers.get("content-encoding") !== "gzip" || request.body === null) return readText(request);
  return readText(new Response(request.body.pipeThrough(new DecompressionStream("gzip"))));
}

/** Like `text()`, which in Workers warns about unknown types. */
async function readText(body: Request | Response): Promise<string> {
  return new TextDecoder().decode(await body.arrayBuffer());
}
