import { shellWord } from "@sluice/client/terminal";
import { LOCAL_DATABASE_ID } from "./configuration.ts";
import type { Settings } from "./settings.ts";
import { registryPath } from "./wrangler.ts";

const D1 = { binding: "DB", database_name: "sluice", database_id: LOCAL_DATABASE_ID };
const RPC = { binding: "SLUICE", service: "sluice-producer", entrypoint: "Sluice" };
/** A port other than the stack's default. */
const PORT = 8_788;

/**
 * How to bind the running stack from your own Worker: the entries for its wrangler.jsonc, and the command to run it.
 */
export function ownWorker(settings: Pick<Settings, "state">): { readonly bindings: string[]; readonly run: string } {
  const registry = `WRANGLER_REGISTRY_PATH=${shellWord(registryPath(settings.state))}`;
  return {
    bindings: [`"d1_databases": [${JSON.stringify(D1)}],`, `"services": [${JSON.stringify(RPC)}],`],
    run: `${registry} npx wrangler dev --persist-to ${shellWord(settings.state)} --port ${PORT}`,
  };
}
