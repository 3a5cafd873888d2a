import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@sluice/local/configuration";

/** Sluice's migrations, split into statements. */
export function migrations(): string[] {
  const folder = join(ROOT, "migrations");
  const files = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return files.toSorted().flatMap((file) => readFileSync(join(folder, file), "utf8").split("--> statement-breakpoint"));
}
