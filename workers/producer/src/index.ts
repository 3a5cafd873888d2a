import { openDatabase } from "@sluice/db";
import { createApp } from "./app.ts";
import type { Dependencies } from "./dependencies.ts";
import { logLine } from "./log.ts";
import { parseKeys, type ApiKey } from "./http/keys.ts";

export interface Env {
  readonly DB: D1Database;
  readonly INTERACTIVE: Queue<string>;
  readonly BULK: Queue<string>;
  /** JSON; see `ApiKey`. A secret. */
  readonly SLUICE_API_KEYS?: string;
}

const app = createApp();

/** Keys change only with a deploy: they are parsed once an isolate. */
let parsed: { readonly text: string | undefined; readonly keys: readonly ApiKey[] } | null = null;

function keysOf(text: string | undefined): readonly ApiKey[] {
  if (parsed === null || parsed.text !== text) parsed = { text, keys: parseKeys(text) };
  return parsed.keys;
}

export function dependencies(env: Env): Dependencies {
  return {
    db: openDatabase(env.DB),
    queues: { interactive: env.INTERACTIVE, bulk: env.BULK },
    keys: keysOf(env.SLUICE_API_KEYS),
    now: () => Date.now(),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    log: logLine,
  };
}

export default {
  fetch: (request, env) => app.fetch(request, dependencies(env)),
} satisfies ExportedHandler<Env>;
