import type * as z from "zod";
import { openRoutes, type OpenRoute } from "../open-routes.ts";
import { PROBLEMS, type ProblemName } from "../http/problems.ts";
import { JSON_TYPE } from "../http/respond.ts";
import { NDJSON, routes, type Route } from "../routes.ts";
import { problemSchema } from "../shapes/answers.ts";
import { headersOf, headersOfProblems } from "./headers.ts";
import { componentSchemas, parameterSchema, refTo, type JsonSchema } from "./schemas.ts";

/** Problems of every route with a key, including those of other methods of its path. */
const ALWAYS: readonly ProblemName[] = [
  "unauthorized",
  "forbidden",
  "method-not-allowed",
  "too-many-requests",
  "invalid",
  "unavailable",
  "internal",
];

const HEADERS: Readonly<Record<string, string>> = {
  "Idempotency-Key":
    "1 to 255 characters of printable ASCII, bare or as a quoted string; a key with a comma must be quoted. The same push " +
    "with the same key is answered like the first one, with `Idempotency-Replayed: true`. While the first push is running, " +
    "it is answered 409 with `Retry-After`. If the first push was interrupted, it resumes that push under the same " +
    "submission, after 60 s of inactivity at the latest; `Idempotency-Resumed` counts the documents that were already " +
    "recorded. Another push with the same key is answered 422. A key belongs to an API key and lives 24 h.",
  "Content-Encoding": "`gzip`, or none.",
};

const TAGS = {
  documents: "Pushing documents, and reading them with their scores.",
  submissions: "Accepted pushes and their progress.",
  results: "The feed of documents as they end.",
  jobs: "Batch API calls, for operators.",
  dispatching: "Pausing and resuming.",
  stats: "Statistics and metrics over all collections.",
  malformed: "Quarantined messages.",
  health: "Routes that need no key.",
} as const;
type Tag = keyof typeof TAGS;

type OpenOperation = NonNullable<OpenRoute["operation"]>;

/** The OpenAPI 3.1 document, generated from the routes and from the schemas that validate. */
export function openApiDocument(): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  const add = (path: string, method: string, operation: JsonSchema) => {
    (paths[path.replaceAll(/:(\w+)/g, "{$1}")] ??= {})[method] = operation;
  };
  for (const route of routes) add(route.path, route.method.toLowerCase(), operationOf(route));
  for (const { path, operation } of openRoutes) if (operation !== null) add(path, "get", openOperationOf(operation));
  return {
    openapi: "3.1.1",
    info: {
      title: "Sluice",
      version: "1.0.0",
      license: { name: "MIT", identifier: "MIT" },
      description:
        "Push documents, each a query with its contexts, and read how well each context answers its query. " +
        "A submission is one accepted push; its documents are scored in jobs of the Workers AI Batch API. " +
        "Errors are problems (RFC 9457) whose `type` never changes its meaning. An unknown path under `/v1/` is answered " +
        "`/problems/not-found` with a valid key, and `/problems/unauthorized` without one.",
    },
    servers: [{ url: "/" }],
    security: [{ key: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key." } },
      schemas: componentSchemas(),
    },
  };
}

function tagOf(route: Route): Tag {
  const [, , first = ""] = route.path.split("/");
  if (first === "pause" || first === "resume") return "dispatching";
  if (route.path === "/metrics") return "stats";
  return Object.hasOwn(TAGS, first) ? (first as Tag) : "documents";
}

/** The problems of a route, including those that every route has. */
export function problemsOf(route: Route): ProblemName[] {
  return [...new Set([...ALWAYS, ...route.problems])];
}

function operationOf(route: Route): JsonSchema {
  const answer = route.answer !== null && {
    [route.type ?? JSON_TYPE]: { schema: refTo(route.answer) },
    ...(route.line !== undefined && { [NDJSON]: { schema: refTo(route.line) } }),
  };
  return {
    operationId: route.id,
    summary: route.summary,
    description: [route.notes, `Needs a key with the scope \`${route.scope}\`.`]
      .filter((text) => text !== undefined)
      .join(" "),
    tags: [tagOf(route)],
    parameters: parametersOf(route),
    ...(route.body !== undefined && { requestBody: requestBodyOf(route.body) }),
    responses: {
      [route.status ?? 200]: {
        description: "Success.",
        ...headersOf(route.answerHeaders ?? []),
        ...(answer !== false && { content: answer }),
      },
      ...problemResponses(problemsOf(route), route.transient),
    },
  };
}

function openOperationOf(operation: OpenOperation): JsonSchema {
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(operation.notes !== undefined && { description: operation.notes }),
    tags: ["health"],
    security: [],
    responses: {
      "200": {
        description: "Success.",
        content: { [operation.type]: { schema: operation.schema === null ? {} : refTo(operation.schema) } },
      },
      ...problemResponses(["method-not-allowed", ...operation.problems]),
    },
  };
}

function parametersOf(route: Route): JsonSchema[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const fields: [string, z.ZodType][] = Object.entries(route.query.shape);
  const inQuery = fields.map(([name, field]) => {
    const { schema, description } = parameterSchema(field);
    return {
      name,
      in: "query",
      required: !field.safeParse(undefined).success,
      ...(description !== null && { description }),
      ...(schema["type"] === "array" && { style: "form", explode: name === "id" }),
      schema,
    };
  });
  const inHeaders = (route.headers ?? []).map((name) => ({
    name,
    in: "header",
    description: HEADERS[name] ?? "",
    schema: { type: "string" },
  }));
  return [...inPath, ...inQuery, ...inHeaders];
}

function requestBodyOf(body: NonNullable<Route["body"]>): JsonSchema {
  return {
    required: body.required,
    content: {
      "application/json": { schema: refTo(body.schema) },
      ...(body.ndjson !== undefined && { [NDJSON]: { schema: refTo(body.ndjson) } }),
    },
  };
}

/** By status: several problems may share one. */
function problemResponses(names: readonly ProblemName[], transient: readonly ProblemName[] = []): JsonSchema {
  const byStatus = Map.groupBy(names, (name) => PROBLEMS[name].status);
  return Object.fromEntries(
    [...byStatus].map(([status, problems]) => [
      String(status),
      {
        description: problems.map((name) => `\`/problems/${name}\`: ${PROBLEMS[name].title}.`).join(" "),
        ...headersOfProblems(problems, transient),
        content: { "application/problem+json": { schema: refTo(problemSchema) } },
      },
    ]),
  );
}
