import type { ProblemName } from "../src/http/problems.ts";

/*
 * Requests that provoke each answer in the OpenAPI document, for the API alone and for the running Workers.
 */

/** A request. Without `authorization` it gets a key with every scope. */
export interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

/** What is unusual during a request. */
export type Circumstance =
  /** The key has every scope except the required one. */
  | "scope lacking"
  /** The key is over its rate limit. */
  | "rate used up"
  /** The database is recorded as full: see `DATABASE_FULL` and `DATABASE_EMPTY`. */
  | "database full"
  /** D1 answers each statement with a transient error. */
  | "D1 lost"
  /** D1 answers each statement with a permanent error. */
  | "D1 broken";

/** Statements that record the database as full, and that end it. */
export const DATABASE_FULL =
  "INSERT INTO database_size (id, bytes, level, since, measured_at, limit_bytes) VALUES (1, 96, 'full', 0, 0, 100)";
export const DATABASE_EMPTY = "DELETE FROM database_size";

export interface Provoked extends Sent {
  /** Requests and statements before it, in order. */
  readonly before?: readonly (Sent | { readonly sql: string })[];
  readonly during?: Circumstance;
}

/** What requests find: documents `a` and `b` in `default` with scores, and a failed document. */
export interface World {
  /** The submission of `a` and `b`, with the label `l`. */
  readonly submission: string;
  readonly job: string;
  /** Another submission, which has not ended. */
  readonly open: string;
}

const PUSH = "/v1/documents";
const NDJSON = "application/x-ndjson";
const FRANCE = JSON.stringify({ query: "capital of France", contexts: ["Paris"], metadata: { a: [1] } });
const UNKNOWN = "01999999-0000-7000-8000-000000000000";

const json = (path: string, body: Required<Sent>["body"], headers: Record<string, string> = {}): Sent => ({
  path,
  method: "POST",
  body,
  headers: { "content-type": "application/json", ...headers },
});
const lines = (path: string): Sent => ({ path, headers: { accept: NDJSON } });
const underKey = (key: string, body = FRANCE): Sent => json(PUSH, body, { "idempotency-key": key });
/** Makes a push that ended look like one that did not. */
const unanswered = (key: string) => ({
  sql: `UPDATE idempotency_keys SET status = NULL, answer = NULL WHERE key = '${key}'`,
});
const letGo = (key: string) => ({
  sql: `UPDATE submissions SET holder = '' WHERE id = (SELECT submission_id FROM idempotency_keys WHERE key = '${key}')`,
});

/** A quarantined message, and its replay. */
const quarantined = (queue: string) => ({
  sql:
    "INSERT OR REPLACE INTO malformed_messages (queue, message_id, reason, received_at, body) " +
    `VALUES ('${queue}', 'm', 'the body is not JSON', 0, 'x')`,
});
const replayOf = (queue: string): Provoked => ({
  path: `/v1/malformed/msg_${btoa(`${queue}/m`).replaceAll("=", "")}/replay`,
  method: "POST",
  before: [quarantined(queue)],
});

type Good = readonly [Provoked, ...Provoked[]];

/** Requests that succeed, for every operation; together they get every media type and every header that it may have. */
const GOOD: Readonly<Record<string, (world: World) => Good>> = {
  pushDocuments: () => [
    json(PUSH, FRANCE),
    { ...json(PUSH, `${FRANCE}\n"refused"\n`), headers: { "content-type": NDJSON } },
    { ...underKey("replayed"), before: [underKey("replayed")] },
    { ...underKey("resumed"), before: [underKey("resumed"), unanswered("resumed"), letGo("resumed")] },
  ],
  listSubmissions: () => [{ path: "/v1/submissions?label=l" }],
  getSubmission: ({ submission }) => [{ path: `/v1/submissions/${submission}` }],
  listResults: ({ submission }) => [
    { path: `/v1/submissions/${submission}/results?include=text,metadata` },
    lines(`/v1/submissions/${submission}/results?include=text,metadata`),
    lines(`/v1/submissions/${submission}/results?limit=1`),
  ],
  cancelSubmission: ({ open }) => [{ path: `/v1/submissions/${open}/cancel`, method: "POST" }],
  retrySubmission: ({ submission }) => [{ path: `/v1/submissions/${submission}/retry`, method: "POST" }],
  getCollection: () => [{ path: "/v1/collections/default" }],
  deleteCollection: () => [
    {
      path: "/v1/collections/throwaway",
      method: "DELETE",
      before: [json(`${PUSH}?collection=throwaway`, FRANCE)],
    },
  ],
  getDocuments: () => [{ path: "/v1/collections/default/documents?id=a&id=b&id=none" }],
  getDocument: () => [{ path: "/v1/collections/default/documents/a?include=text,metadata" }],
  deleteDocument: () => [{ path: "/v1/collections/default/documents/a", method: "DELETE" }],
  readFeed: () => [{ path: "/v1/results" }, lines("/v1/results")],
  listJobs: () => [{ path: "/v1/jobs" }],
  getJob: ({ job }) => [{ path: `/v1/jobs/${job}` }],
  pause: ({ submission }) => [json("/v1/pause", JSON.stringify({ submission }))],
  resume: () => [{ path: "/v1/resume", method: "POST" }],
  listMalformed: () => [{ path: "/v1/malformed", before: [quarantined("sluice-bulk")] }],
  replayMalformed: () => [replayOf("sluice-bulk")],
  discardMalformed: () => [
    { ...replayOf("sluice-bulk"), path: replayOf("sluice-bulk").path.replace("/replay", ""), method: "DELETE" },
  ],
  getStats: () => [{ path: "/v1/stats" }],
  getMetrics: () => [{ path: "/metrics" }],
  getHealth: () => [{ path: "/healthz" }],
  getReadiness: () => [{ path: "/readyz" }],
  getOpenApi: () => [{ path: "/openapi.json" }],
  getDocs: () => [{ path: "/docs" }],
};

export function successes(operationId: string, world: World): Good {
  const good = GOOD[operationId];
  if (good === undefined) throw new Error(`there is no request for ${operationId}`);
  return good(world);
}

const withNothing = (path: string) =>
  path
    .replace(/(sub|job)_[0-9a-f-]+/, `$1_${UNKNOWN}`)
    .replace(/msg_\w+/, "msg_unknown")
    .replace("documents/a", "documents/none")
    .replace(/collections\/[a-z]+$/, "collections/none");
const withoutQuery = (path: string) => path.split("?")[0] ?? path;

/** Requests that provoke a problem, made from one that succeeds; together they get every header that it may have. */
const PROVOKE: Readonly<Record<ProblemName, (good: Sent, operationId: string, world: World) => readonly Provoked[]>> = {
  unauthorized: (good) => [{ ...good, headers: { ...good.headers, authorization: "Bearer wrong" } }],
  forbidden: (good) => [{ ...good, during: "scope lacking" }],
  "too-many-requests": (good) => [{ ...good, during: "rate used up" }],
  invalid: (good) => [{ ...good, path: `${withoutQuery(good.path)}?nonsense=1` }],
  unavailable: (good) => [{ ...good, during: "D1 lost" }],
  "database-full": (good) => [{ ...good, during: "database full" }],
  internal: (good) => [{ ...good, during: "D1 broken" }],
  "not-found": (good, id) => [
    id === "pause" || id === "resume"
      ? json(good.path, JSON.stringify({ submission: `sub_${UNKNOWN}` }))
      : { ...good, path: withNothing(good.path) },
  ],
  "method-not-allowed": ({ path }) => [{ path, method: "PATCH" }],
  "not-json": ({ path }) => [json(path, "{")],
  "not-utf8": ({ path }) => [json(path, new Uint8Array([0x22, 0xff, 0x22]))],
  "broken-body": ({ path }) => [json(path, new Uint8Array([1, 2, 3]), { "content-encoding": "gzip" })],
  "body-too-large": ({ path }) => [json(path, `"${"x".repeat(path === PUSH ? 10_000_000 : 10_000)}"`)],
  "unsupported-media-type": ({ path }) => [
    json(path, "{}", { "content-type": "text/plain" }),
    json(path, "{}", { "content-encoding": "br" }),
  ],
  "empty-body": ({ path }) => [json(path, " ")],
  "nothing-acceptable": ({ path }) => [json(path, "bad", { "content-type": NDJSON })],
  "idempotency-key-reused": () => [
    {
      ...underKey("reused", JSON.stringify({ query: "other", contexts: ["Paris"] })),
      before: [underKey("reused")],
    },
  ],
  conflict: (_, id, { open }) =>
    id === "retrySubmission"
      ? [
          {
            path: `/v1/submissions/${open}/retry`,
            method: "POST",
            before: [{ path: `/v1/submissions/${open}/cancel`, method: "POST" }],
          },
        ]
      : id === "replayMalformed"
        ? [replayOf("another")]
        : [{ ...underKey("running"), before: [underKey("running"), unanswered("running")] }],
};

function isProblemName(name: string): name is ProblemName {
  return Object.hasOwn(PROVOKE, name);
}

export function provoke(name: string, operationId: string, world: World): readonly Provoked[] {
  if (!isProblemName(name)) throw new Error(`there is no request that brings about ${name}`);
  const [good] = successes(operationId, world);
  return PROVOKE[name](good, operationId, world);
}
