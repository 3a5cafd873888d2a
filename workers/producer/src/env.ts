import { D1_TIME } from "@sluice/pipeline/platform/clock.ts";
import { openDatabase, type KnownSize } from "@sluice/db";
import docsScript from "swagger-ui-dist/swagger-ui-bundle.js";
import docsStyle from "swagger-ui-dist/swagger-ui.css";
import type { ApiContext, RateLimiter } from "./context.ts";
import { logLine } from "./log.ts";
import { parseKeys, type ApiKey } from "./http/keys.ts";
import { BodiesInWork } from "./push/bodies-in-work.ts";
import { scorers } from "./shapes/stats.ts";

export interface Env {
  readonly DB: D1Database;
  readonly INTERACTIVE: Queue<string>;
  readonly BULK: Queue<string>;
  /** JSON; see `ApiKey`. A secret. */
  readonly SLUICE_API_KEYS?: string;
  /** Origins, separated by commas: see `corsOrigins`. */
  readonly SLUICE_CORS_ORIGINS?: string;
  /** The stand-in that scores instead of Workers AI. Only the local configuration sets it. */
  readonly SLUICE_SCORER?: string;
  /** An optional rate-limit binding. It counts requests per API key. */
  readonly RATE_LIMITER?: RateLimiter;
}

const bodies = new BodiesInWork();
/** The size of the database that D1 reported last to this isolate. */
const databaseSize: KnownSize = { bytes: null, at: 0 };

/** Keys change only with a deploy, so they are parsed once per isolate. */
let parsed: { readonly text: string | undefined; readonly keys: readonly ApiKey[] } | null = null;

function keysOf(text: string | undefined): readonly ApiKey[] {
  if (parsed === null || parsed.text !== text) parsed = { text, keys: parseKeys(text) };
  return parsed.keys;
}

export function contextOf(env: Env): ApiContext {
  return {
    db: openDatabase(env.DB, undefined, databaseSize),
    queues: { interactive: env.INTERACTIVE, bulk: env.BULK },
    keys: keysOf(env.SLUICE_API_KEYS),
    now: () => Date.now(),
    databaseTime: () => D1_TIME,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
    log: logLine,
    bodies,
    rateLimiter: env.RATE_LIMITER ?? null,
    corsOrigins: (env.SLUICE_CORS_ORIGINS ?? "").split(/[\s,]+/).filter((origin) => origin !== ""),
    scorer: scorers.find((scorer) => scorer === env.SLUICE_SCORER) ?? "workers-ai",
    docsAssets: { script: docsScript, style: docsStyle },
  };
}

/** Names a failed request in the log and in its answer. */
export function newRequestId(): string {
  return crypto.randomUUID();
}
