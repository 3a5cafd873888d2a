import { isPassing } from "@sluice/db";
import { Hono, type Context } from "hono";
import type { Call, Dependencies } from "./dependencies.ts";
import { describeError } from "./log.ts";
import { findKey, type ApiKey } from "./http/keys.ts";
import { pathParameters } from "./http/path.ts";
import { problemResponse } from "./http/problems.ts";
import { jsonResponse } from "./http/respond.ts";
import { routes } from "./routes.ts";

type Environment = { Bindings: Dependencies; Variables: { key: ApiKey } };

/** How long a caller is asked to wait when D1 or a Queue is out of order, in seconds. */
const RETRY_AFTER = "10";

/** The HTTP API. What it depends on comes with each request. */
export function createApp(): Hono<Environment> {
  const app = new Hono<Environment>();
  app.use(async (context, next) => {
    await next();
    context.res.headers.set("x-content-type-options", "nosniff");
    context.res.headers.set("cache-control", "no-store");
  });
  app.get("/healthz", () => jsonResponse({ status: "ok" }));
  app.all("/healthz", () => methodNotAllowed(["GET"]));
  app.use(async (context, next) => {
    const key = await findKey(context.env.keys, context.req.header("authorization") ?? null);
    if (key === null) return unauthorized(context.env);
    context.set("key", key);
    return next();
  });
  for (const route of routes) {
    app.on(route.method, route.path, (context) => {
      const { key } = context.var;
      if (!key.scopes.includes(route.scope)) return forbidden(route.scope);
      const call = toCall(context, route.path, key);
      return call === null ? notFound() : route.handle(context.env, call);
    });
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method);
    app.all(path, () => methodNotAllowed(methods));
  }
  app.notFound(() => notFound());
  app.onError((error, context) => onError(error, context.env));
  return app;
}

function toCall(context: Context<Environment>, path: string, key: ApiKey): Call | null {
  const url = new URL(context.req.url);
  const parameters = pathParameters(path, url.pathname);
  return parameters === null ? null : { request: context.req.raw, url, parameters, key };
}

function unauthorized({ keys, log }: Dependencies): Response {
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

function forbidden(scope: string): Response {
  return problemResponse({ name: "forbidden", detail: `The key lacks the scope "${scope}", which this needs.` });
}

function notFound(): Response {
  return problemResponse({ name: "not-found", detail: "No route of this API has this path." });
}

function methodNotAllowed(methods: readonly string[]): Response {
  const allow = methods.includes("GET") ? [...methods, "HEAD"] : methods;
  return problemResponse({
    name: "method-not-allowed",
    detail: `This path takes ${methods.join(", ")}.`,
    headers: { allow: allow.join(", ") },
  });
}

function onError(error: unknown, { log }: Dependencies): Response {
  const requestId = crypto.randomUUID();
  const unavailable = isPassing(error);
  log({ event: unavailable ? "unavailable" : "unexpected_error", request_id: requestId, ...describeError(error) });
  const members = { request_id: requestId };
  return unavailable
    ? problemResponse({
        name: "unavailable",
        detail: "The database does not answer for now: try again.",
        headers: { "retry-after": RETRY_AFTER },
        members,
      })
    : problemResponse({
        name: "internal",
        detail: "The request failed for a reason that is no fault of yours; the log has more under request_id.",
        members,
      });
}
