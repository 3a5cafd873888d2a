import { err, ok, type FieldProblem, type Result } from "@sluice/core";
import { Hono, type Context } from "hono";
import type { Call, ApiContext } from "./context.ts";
import { newRequestId } from "./env.ts";
import { hasBody } from "./http/body.ts";
import { preflight, shareWith } from "./http/cors.ts";
import { encodingProblems } from "./http/encoding.ts";
import { findKey, type ApiKey } from "./http/keys.ts";
import { pathParameters } from "./http/path.ts";
import { invalid, responseOf, type Problem } from "./http/problems.ts";
import { unexpected } from "./http/unexpected.ts";
import { openRoutes } from "./open-routes.ts";
import { routes, type Route } from "./routes.ts";

type Environment = { Bindings: ApiContext; Variables: { key: ApiKey } };

/** `Retry-After` when the rate limit is reached. */
const RETRY_AFTER_SECONDS = "10";

/** On every answer that does not set them itself. */
const HEADERS = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};

/** The HTTP API. Its context comes with each request. */
export function createApp(): Hono<Environment> {
  const app = new Hono<Environment>();
  app.use(async (c, next) => {
    await next();
    const { headers } = c.res;
    for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value);
    shareWith(c.env.corsOrigins, c.req.raw, headers);
  });
  app.use(async (c, next) => preflight(c.req.raw, c.env.corsOrigins) ?? next());
  for (const { path, handle } of openRoutes) {
    app.get(path, async (c) => responseOf(await handle(c.env)));
    app.all(path, (c) => responseOf(otherMethod(c.req.method, ["GET"])));
  }
  app.use(async (c, next) => {
    // Paths outside the API are no secret: a request for one needs no key to get 404.
    const isApi = c.req.path.startsWith("/v1/") || routes.some(({ path }) => path === c.req.path);
    const key = isApi ? await admit(c) : err(NO_ROUTE);
    if (!key.ok) return responseOf(key);
    c.set("key", key.value);
    return next();
  });
  for (const route of routes) app.on(route.method, route.path, async (c) => responseOf(await answer(c, route)));
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method);
    app.all(path, (c) => responseOf(otherMethod(c.req.method, methods)));
  }
  app.notFound(() => responseOf(err(NO_ROUTE)));
  app.onError((error, c) => responseOf(err(unexpected(error, c.env, newRequestId()))));
  return app;
}

const NO_ROUTE: Problem = { name: "not-found", detail: "No route of this API has this path." };

/** The key of a request, if it is valid and within its rate. */
async function admit(c: Context<Environment>): Promise<Result<ApiKey, Problem>> {
  const { keys, rateLimiter } = c.env;
  const key = await findKey(keys, c.req.header("authorization") ?? null);
  if (key === null) return err(unauthorized(c.env));
  if (rateLimiter !== null && !(await rateLimiter.limit({ key: key.name })).success) return err(TOO_MANY_REQUESTS);
  return ok(key);
}

async function answer(c: Context<Environment>, route: Route): Promise<Result<Response, Problem>> {
  const { key } = c.var;
  if (!key.scopes.includes(route.scope)) {
    return err({ name: "forbidden", detail: `This needs a key with the scope "${route.scope}".` });
  }
  const call = await toCall(c, route, key);
  return call.ok ? route.handle(c.env, call.value) : err(invalid(call.error));
}

/** The request as its handler gets it, or the errors that every route refuses. */
async function toCall(
  c: Context<Environment>,
  route: Route,
  key: ApiKey,
): Promise<Result<Call, readonly FieldProblem[]>> {
  const request = c.req.raw;
  const url = new URL(c.req.url);
  const parameters = pathParameters(route.path, url.pathname);
  if (!parameters.ok) return parameters;
  const broken = encodingProblems(url.search);
  if (broken.length > 0) return err(broken);
  // Options put into a body by mistake would silently change nothing.
  if (route.body === undefined && (await hasBody(request))) return err([{ pointer: "", detail: noBodyHere(route) }]);
  return ok({ request, url, parameters: parameters.value, key });
}

function noBodyHere({ method, path, query }: Route): string {
  const names = Object.keys(query.shape);
  const instead = names.length === 0 ? "send none" : `options go into the query string (${names.join(", ")})`;
  return `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")} takes no body: ${instead}`;
}

function unauthorized({ keys, log }: ApiContext): Problem {
  if (keys.length === 0)
    log({ event: "no_api_keys", level: "error", detail: "SLUICE_API_KEYS is missing or not a list of keys" });
  return {
    name: "unauthorized",
    detail:
      keys.length === 0
        ? "No valid API keys are configured here, so every request is refused: set the secret SLUICE_API_KEYS."
        : "Send a valid key: Authorization: Bearer KEY.",
    headers: { "www-authenticate": "Bearer" },
  };
}

const TOO_MANY_REQUESTS: Problem = {
  name: "too-many-requests",
  detail: "The API key's rate limit is reached: wait, and push many documents in one request.",
  headers: { "retry-after": RETRY_AFTER_SECONDS },
};

/** OPTIONS lists the methods of a path; any other method is refused with the same list. */
function otherMethod(method: string, methods: readonly string[]): Result<Response, Problem> {
  const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
  if (method === "OPTIONS") return ok(new Response(null, { status: 204, headers: { allow } }));
  return err({ name: "method-not-allowed", detail: `This path supports ${methods.join(", ")}.`, headers: { allow } });
}
