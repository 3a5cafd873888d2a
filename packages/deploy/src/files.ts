import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fullKey, ROOT } from "@sluice/local/configuration";
import { deploymentOrder, environmentConfiguration, type Configurations, type DeployedWorker } from "./deployment.ts";
import { KEYS_SECRET, type Paths } from "./plan.ts";

/** The files of an environment, in a folder that git ignores. */
export class EnvironmentFiles implements Paths {
  readonly #folder: string;
  readonly #environment: string;

  constructor(environment: string, root: string) {
    this.#environment = environment;
    this.#folder = join(root, environment);
  }

  /** Relative to the root of the checkout, where wrangler runs. */
  configuration(worker: DeployedWorker): string {
    return relative(ROOT, this.#path(worker, "wrangler.json"));
  }

  get secrets(): string {
    return relative(ROOT, this.#path("secrets.json"));
  }

  /** Writes the configuration of each Worker. */
  writeConfigurations(sources: Configurations, databaseId: string): void {
    for (const worker of deploymentOrder) {
      const configuration = environmentConfiguration(worker, sources[worker], this.#environment, databaseId);
      write(this.#path(worker, "wrangler.json"), `${JSON.stringify(configuration, null, 2)}\n`);
    }
  }

  /**
   * The first API key, stored until it is printed: if a run fails after its upload, the next one prints the same key.
   */
  keepKey(random: Uint8Array): string {
    const kept = this.unprintedKey();
    if (kept !== null) return kept;
    const key = `sluice_${Buffer.from(random).toString("base64url")}`;
    write(this.#path("api-key"), `${key}\n`);
    return key;
  }

  /** A key that an earlier run created and did not print; `null` if there is none. */
  unprintedKey(): string | null {
    try {
      return readFileSync(this.#path("api-key"), "utf8").trim() || null;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
      throw error;
    }
  }

  forgetKey(): void {
    rmSync(this.#path("api-key"), { force: true });
  }

  /** Writes the secret with the hash of the key, for `deploy --secrets-file`. */
  writeSecrets(key: string): void {
    const keys = JSON.stringify([fullKey("first", key)]);
    write(this.#path("secrets.json"), JSON.stringify({ [KEYS_SECRET]: keys }));
  }

  removeSecrets(): void {
    rmSync(this.#path("secrets.json"), { force: true });
  }

  removeAll(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #path(...names: string[]): string {
    return join(this.#folder, ...names);
  }
}

/** Where the files of all environments are, unless a test says otherwise. */
export const DEPLOY_FOLDER = join(ROOT, ".sluice", "deploy");

/** Only the owner may read the file: it may hold a key. */
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o600 });
}
