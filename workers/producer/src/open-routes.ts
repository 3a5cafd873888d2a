import { ok, type Result } from "@sluice/core";
import type * as z from "zod";
import type { ApiContext } from "./context.ts";
import { docsPage, docsScript, docsStart, docsStyle } from "./handlers/docs.ts";
import { openApiResponse } from "./openapi/response.ts";
import { JSON_TYPE, jsonResponse } from "./http/respond.ts";
import type { Problem, ProblemName } from "./http/problems.ts";
import { answerWith } from "./route.ts";
import { healthSchema, HEALTHY, readinessSchema } from "./shapes/health.ts";
import { checkReadiness } from "./verbs/check-readiness.ts";

/** A route that needs no key. All are GET. */
export interface OpenRoute {
  readonly path: string;
  readonly handle: (context: ApiContext) => Promise<Result<Response, Problem>>;
  /** What the OpenAPI document says about it; `null`: a file of the page at `/docs`. */
  readonly operation: {
    readonly id: string;
    readonly summary: string;
    readonly notes?: string;
    readonly type: string;
    readonly schema: z.ZodType | null;
    readonly problems: readonly ProblemName[];
  } | null;
}

/** For routes that always succeed. */
function always(answer: (context: ApiContext) => Response | Promise<Response>): OpenRoute["handle"] {
  return async (context) => ok(await answer(context));
}

export const openRoutes: readonly OpenRoute[] = [
  {
    path: "/healthz",
    handle: always(() => jsonResponse(HEALTHY)),
    operation: {
      id: "getHealth",
      summary: "Check that the API runs",
      type: JSON_TYPE,
      schema: healthSchema,
      problems: [],
    },
  },
  {
    path: "/readyz",
    handle: (context) => answerWith(checkReadiness)(context, null),
    operation: {
      id: "getReadiness",
      summary: "Check that pushed documents get scored",
      notes:
        "503 if the database lacks a table or is full, the poller has not run for 5 minutes, or dispatching of a model is " +
        "stopped because Workers AI refuses the account or the model (a pause for `configuration`). A requested pause and " +
        "the daily limit are not faults: the answer stays 200.",
      type: JSON_TYPE,
      schema: readinessSchema,
      problems: ["unavailable", "internal"],
    },
  },
  {
    path: "/openapi.json",
    handle: always(openApiResponse),
    operation: { id: "getOpenApi", summary: "This document", type: JSON_TYPE, schema: null, problems: [] },
  },
  {
    path: "/docs",
    handle: always(docsPage),
    operation: {
      id: "getDocs",
      summary: "A page to read this document and try the API",
      type: "text/html",
      schema: null,
      problems: [],
    },
  },
  { path: "/docs/start.js", handle: always(docsStart), operation: null },
  { path: "/docs/swagger-ui.js", handle: always(docsScript), operation: null },
  { path: "/docs/swagger-ui.css", handle: always(docsStyle), operation: null },
];
