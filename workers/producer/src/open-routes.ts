import type * as z from "zod";
import type { ApiContext } from "./context.ts";
import { docsPage, docsScript, docsStart, docsStyle } from "./handlers/docs.ts";
import { healthSchema, healthz, readyz } from "./handlers/health.ts";
import { openApiResponse } from "./openapi/response.ts";
import type { ProblemName } from "./http/problems.ts";

/** A route that wants no key. All are GET. */
export interface OpenRoute {
  readonly path: string;
  readonly handle: (dependencies: ApiContext, request: Request) => Response | Promise<Response>;
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

const JSON_TYPE = "application/json";

export const openRoutes: readonly OpenRoute[] = [
  {
    path: "/healthz",
    handle: healthz,
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
    handle: readyz,
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
    handle: openApiResponse,
    told: { id: "getOpenApi", summary: "This document", type: JSON_TYPE, schema: null, problems: [] },
  },
  {
    path: "/docs",
    handle: docsPage,
    told: {
      id: "getDocs",
      summary: "A page to read this document, and to try it",
      type: "text/html",
      schema: null,
      problems: [],
    },
  },
  { path: "/docs/start.js", handle: docsStart, told: null },
  { path: "/docs/swagger-ui.js", handle: docsScript, told: null },
  { path: "/docs/swagger-ui.css", handle: docsStyle, told: null },
];
