import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Returns the key of a local stack: the one stored in `STATE/api-key`, else a new one made from `random` (18 bytes or
 * more). Only the owner can read the file.
 */
export function keepApiKey(state: string, random: Uint8Array): string {
  const path = join(state, "api-key");
  try {
    const kept = readFileSync(path, "utf8").trim();
    if (kept !== "") return kept;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  const key = `sluice_${Buffer.from(random).toString("base64url")}`;
  writeFileSync(path, `${key}\n`, { mode: 0o600 });
  return key;
}
