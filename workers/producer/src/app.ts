import { err, ok, type FieldProblem, type Result } from "@sluice/core";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import { isTransient } from "@sluice/db";
import { Hono, type Context } from "hono";
import type { Call, ApiContext } from "./context.ts";
import { hasBody } from "./http/body.ts";
import { preflight, shareWith } from "./http/cors.ts";
import { encodingProblems } from "./http/encoding.ts";
import { findKey, type ApiKey } from "./http/keys.ts";
import { pathParameters } from "./http/path.ts";
import { invalid, problemResponse } from "./http/problems.ts";
import { openRoutes } from "./open-routes.ts";
import { routes, type Route } from "./routes.ts";

type Environment = { Bindings: ApiContext; Variables: { key: ApiKey } };

/** How long a caller is asked to wait when D1 or a Queue is out of order, or the rate limit is reached; in seconds. */
const RETRY_AFTER_SECONDS = "10";

/** On every answer that does not say otherwise itself. */
const HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};

/** The HTTP API. What it depends on comes with each request. */
export function createApp(): Hono<Environment> {
  const app = new Hono<Environment>();
  app.use(async (context, next) => {
    await next();
    const { headers } = context.res;
    for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value);
    shareWith(context.env.corsOrigins, context.req.raw, headers);
  });
  app.use(async (context, next) => preflight(context.req.raw, context.env.corsOrigins) ?? next());
  for (const { path, handle } of openRoutes) {
    app.get(path, (context) => handle(context.env, context.req.raw));
    app.all(path, (context) => otherMethod(context.req.method, ["GET"]));
  }
  app.use(async (context, next) => {
    // What lies outside the API is no secret, and needs no key to be told that it is not there.
    if (!context.req.path.startsWith("/v1/")) return notFound();
    const key = await findKey(context.env.keys, context.req.header("authorization") ?? null);
    if (key === null) return unauthorized(context.env);
    const { rateLimiter } = context.env;
    if (rateLimiter !== null && !(await rateLimiter.limit({ key: key.name })).success) return tooManyRequests();
    context.set("key", key);
    return next();
  });
  for (const route of routes) {
    app.on(route.method, route.path, async (context) => {
      const { key } = context.var;
      if (!key.scopes.includes(route.scope)) return forbidden(route.scope);
      const call = await toCall(context, route, key);
      return call.ok ? route.handle(context.env, call.value) : problemResponse(invalid(call.error));
    });
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method);
    app.all(path, (context) => otherMethod(context.req.method, methods));
  }
  app.notFound(() => notFound());
  app.onError((error, context) => onError(error, context.env));
  return app;
}

/** The request as its handler takes it, or what is wrong with it for whatever route it is. */
async function toCall(
  context: Context<Environment>,
  route: Route,
  key: ApiKey,
): Promise<Result<Call, readonly FieldProblem[]>> {
  const request = context.req.raw;
  const url = new URL(context.req.url);
  const parameters = pathParameters(route.path, url.pathname);
  if (!parameters.ok) return parameters;
  const broken = encodingProblems(url.search);
  if (broken.length > 0) return err(broken);
  // Options that were put there by mistake would change nothing, without a word.
  if (route.body === undefined && (await hasBody(request))) return err([{ pointer: "", detail: noBodyHere(route) }]);
  return ok({ request, url, parameters: parameters.value, key });
}

function noBodyHere({ method, path, query }: Route): string {
  const names = Object.keys(query.shape);
  const instead = names.length === 0 ? "send none" : `options go into the query string (${names.join(", ")})`;
  return `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")} takes no body: ${instead}`;
}

function unauthorized({ keys, log }: ApiContext): Response {
  if (keys.length === 0) log({ event: "no_api_keys", detail: "SLUICE_API_KEYS is missing or not a list of keys" });
  return problemResponse({
    name: "unauthorized",
    detail:
      keys.length === 0
        ? "No valid API keys are configured here, so every request is refused: set the secret SLUICE_API_KEYS."
        : "Send a valid key: Authorization: Bearer KEY.",
    headers: { "www-authenticate": "Bearer" },
  });
}

function tooManyRequests(): Response {
  return problemResponse({
    name: "too-many-requests",
    detail: "The API key's rate limit is reached: wait, and push many documents in one request.",
    headers: { "retry-after": RETRY_AFTER_SECONDS },
  });
}

function forbidden(scope: string): Response {
  return problemResponse({ name: "forbidden", detail: `The key lacks the scope "${scope}", which this needs.` });
}

function notFound(): Response {
  return problemResponse({ name: "not-found", detail: "No route of this API has this path." });
}

/** OPTIONS says what a path takes; what it does not take is refused with the same. */
function otherMethod(method: string, methods: readonly string[]): Response {
  const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
  if (method === "OPTIONS") return new Response(null, { status: 204, headers: { allow } });
  return problemResponse({
    name: "method-not-allowed",
    detail: `This path takes ${methods.join(", ")}.`,
    headers: { allow },
  });
}

function onError(error: unknown, { log }: ApiContext): Response {
  const requestId = crypto.randomUUID();
  const unavailable = isTransient(error);
  log({ event: unavailable ? "unavailable" : "unexpected_error", request_id: requestId, ...describeError(error) });
  const members = { request_id: requestId };
  return unavailable
    ? problemResponse({
        name: "unavailable",
        detail: "The database does not answer for now: try again.",
        headers: { "retry-after": RETRY_AFTER_SECONDS },
        members,
      })
    : problemResponse({
        name: "internal",
        detail: "The request failed for a reason that is no fault of yours; the log has more under request_id.",
        members,
      });
}
