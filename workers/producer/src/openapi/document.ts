import type * as z from "zod";
import { openRoutes, type OpenRoute } from "../open-routes.ts";
import { PROBLEMS, type ProblemName } from "../http/problems.ts";
import { NDJSON, routes, type Route } from "../routes.ts";
import { problemSchema } from "../shapes/answers.ts";
import { headersOf, headersOfProblems } from "./headers.ts";
import { componentSchemas, parameterSchema, refTo, type JsonSchema } from "./schemas.ts";

/** What any route with a key may answer, to another method of its path too. */
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
    "1 to 255 characters of printable ASCII, bare or as a quoted string; one with a comma is quoted. The same key and push " +
    "replay the first answer, told by `Idempotency-Replayed: true`; while the first is under way they are answered 409 with " +
    "`Retry-After`, and after a push that broke off, 60 s after its last sign of life at the latest, they go on under the " +
    "same submission, with the documents that were there already counted in `Idempotency-Resumed`. Another push is answered " +
    "422. Keys belong to an API key and live 24 h.",
  "Content-Encoding": "`gzip`, or nothing.",
};

const TAGS = {
  documents: "What is pushed, and its scores.",
  submissions: "Accepted pushes, and how far they are.",
  results: "The feed of everything that ends.",
  jobs: "Calls of the Batch API, for who operates this.",
  dispatching: "Stopping, and going on.",
  stats: "The state of the whole.",
  malformed: "Quarantined messages.",
  health: "What wants no key.",
} as const;
type Tag = keyof typeof TAGS;

type Told = NonNullable<OpenRoute["told"]>;

/** The OpenAPI 3.1 document, made from the routes and from the schemas that they check with. */
export function openApiDocument(): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  const add = (path: string, method: string, operation: JsonSchema) => {
    (paths[path.replaceAll(/:(\w+)/g, "{$1}")] ??= {})[method] = operation;
  };
  for (const route of routes) add(route.path, route.method.toLowerCase(), operationOf(route));
  for (const { path, told } of openRoutes) if (told !== null) add(path, "get", openOperationOf(told));
  return {
    openapi: "3.1.1",
    info: {
      title: "Sluice",
      version: "1.0.0",
      license: { name: "MIT", identifier: "MIT" },
      description:
        "Push documents, a query and its contexts each, and read how well each context answers the query. " +
        "A submission is one accepted push; its documents are scored in jobs of the Workers AI Batch API. " +
        "Errors are problems (RFC 9457) whose `type` never changes its meaning. A path that is not here is answered " +
        "`/problems/not-found` to whoever has a valid key, and `/problems/unauthorized` to anyone else.",
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
  return Object.hasOwn(TAGS, first) ? (first as Tag) : "documents";
}

/** The problems of a route, those that every one has among them. */
export function problemsOf(route: Route): ProblemName[] {
  return [...new Set([...ALWAYS, ...route.problems])];
}

function operationOf(route: Route): JsonSchema {
  const answer = route.answer !== null && {
    "application/json": { schema: refTo(route.answer) },
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
        description: "Done.",
        ...headersOf(route.answerHeaders ?? []),
        ...(answer !== false && { content: answer }),
      },
      ...problemResponses(problemsOf(route), route.passing),
    },
  };
}

function openOperationOf(told: Told): JsonSchema {
  return {
    operationId: told.id,
    summary: told.summary,
    ...(told.notes !== undefined && { description: told.notes }),
    tags: ["health"],
    security: [],
    responses: {
      "200": {
        description: "Done.",
        content: { [told.type]: { schema: told.schema === null ? {} : refTo(told.schema) } },
      },
      ...problemResponses(["method-not-allowed", ...told.problems]),
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
function problemResponses(names: readonly ProblemName[], passing: readonly ProblemName[] = []): JsonSchema {
  const byStatus = Map.groupBy(names, (name) => PROBLEMS[name].status);
  return Object.fromEntries(
    [...byStatus].map(([status, problems]) => [
      String(status),
      {
        description: problems.map((name) => `\`/problems/${name}\`: ${PROBLEMS[name].title}.`).join(" "),
        ...headersOfProblems(problems, passing),
        content: { "application/problem+json": { schema: refTo(problemSchema) } },
      },
    ]),
  );
}
