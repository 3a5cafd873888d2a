import { ok, type Result } from "@sluice/core";
import type * as z from "zod";
import type { ApiContext } from "./context.ts";
import { docsPage, docsScript, docsStart, docsStyle } from "./handlers/docs.ts";
import { openApiResponse } from "./openapi/response.ts";
import { JSON_TYPE, jsonResponse } from "./http/respond.ts";
import type { Problem, ProblemName } from "./http/problems.ts";
import { answerWith } from "./route.ts";
import { healthSchema, HEALTHY } from "./shapes/health.ts";
import { checkReadiness } from "./verbs/check-readiness.ts";

/** A route that wants no key. All are GET. */
export interface OpenRoute {
  readonly path: string;
  readonly handle: (context: ApiContext) => Promise<Result<Response, Problem>>;
  /** What the OpenAPI document says; `null`: part of another's page. */
  readonly told: {
    readonly id: string;
    readonly summary: string;
    readonly notes?: string;
    readonly type: string;
    readonly schema: z.ZodType | null;
    readonly problems: readonly ProblemName[];
  } | null;
}

/** Of a route that has no problem. */
function always(answer: (context: ApiContext) => Response | Promise<Response>): OpenRoute["handle"] {
  return async (context) => ok(await answer(context));
}

export const openRoutes: readonly OpenRoute[] = [
  {
    path: "/healthz",
    handle: always(() => jsonResponse(HEALTHY)),
    told: {
      id: "getHealth",
      summary: "Whether the API is there at all",
      type: JSON_TYPE,
      schema: healthSchema,
      problems: [],
    },
  },
  {
    path: "/readyz",
    handle: (context) => answerWith(checkReadiness)(context, null),
    told: {
      id: "getReadiness",
      summary: "Whether what is pushed is scored",
      notes:
        "503 when the database lacks a table, the poller has not run for 5 minutes, or dispatching of a model is stopped " +
        "since Workers AI refuses the account or the model (a pause for `configuration`). A pause that someone asked for and the daily limit are no " +
        "fault, and leave it 200.",
      type: JSON_TYPE,
      schema: healthSchema,
      problems: ["unavailable", "internal"],
    },
  },
  {
    path: "/openapi.json",
    handle: always(openApiResponse),
    told: { id: "getOpenApi", summary: "This document", type: JSON_TYPE, schema: null, problems: [] },
  },
  {
    path: "/docs",
    handle: always(docsPage),
    told: {
      id: "getDocs",
      summary: "A page to read this document, and to try it",
      type: "text/html",
      schema: null,
      problems: [],
    },
  },
  { path: "/docs/start.js", handle: always(docsStart), told: null },
  { path: "/docs/swagger-ui.js", handle: always(docsScript), told: null },
  { path: "/docs/swagger-ui.css", handle: always(docsStyle), told: null },
];
