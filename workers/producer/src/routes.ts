import type { Handler } from "./dependencies.ts";
import { getDocument } from "./handlers/get-document.ts";
import { getSubmission } from "./handlers/get-submission.ts";
import { listResults } from "./handlers/list-results.ts";
import { listSubmissions } from "./handlers/list-submissions.ts";
import { postDocuments } from "./handlers/post-documents.ts";
import type { Scope } from "./http/keys.ts";

interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** What the key must allow. */
  readonly scope: Scope;
  readonly handle: Handler;
}

/** Every route that wants a key. */
export const routes: readonly Route[] = [
  { method: "POST", path: "/v1/documents", scope: "ingest", handle: postDocuments },
  { method: "GET", path: "/v1/submissions", scope: "read", handle: listSubmissions },
  { method: "GET", path: "/v1/submissions/:id", scope: "read", handle: getSubmission },
  { method: "GET", path: "/v1/submissions/:id/results", scope: "read", handle: listResults },
  { method: "GET", path: "/v1/collections/:collection/documents/:id", scope: "read", handle: getDocument },
];
