import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import type { Patch } from "../d1/sqlite.ts";

const ROOT = join(import.meta.dirname, "../../../..");

export interface ConsumerConfiguration {
  readonly queue: string;
  readonly max_batch_size: number;
  /** Seconds. */
  readonly max_batch_timeout: number;
  readonly max_retries: number;
  /** Seconds. */
  readonly retry_delay: number;
  readonly max_concurrency: number;
  readonly dead_letter_queue?: string;
}

/** The part of a wrangler.jsonc that the simulation reads. */
interface WorkerConfiguration {
  readonly vars?: Readonly<Record<string, string>>;
  readonly ai?: { readonly binding: string };
  readonly d1_databases: readonly { readonly binding: string }[];
  readonly queues?: {
    readonly producers?: readonly { readonly binding: string; readonly queue: string }[];
    readonly consumers?: readonly ConsumerConfiguration[];
  };
}

export type DeployedWorker = "producer" | "consumer" | "poller";
export type Configuration = Readonly<Record<DeployedWorker, WorkerConfiguration>>;

/** Reads the wrangler.jsonc of each deployed Worker, changed by `patch`. */
export function readConfiguration(patch: Patch = (_, text) => text): Configuration {
  const read = (worker: DeployedWorker) => {
    const file = `workers/${worker}/wrangler.jsonc`;
    const text = patch(file, readFileSync(join(ROOT, file), "utf8"));
    return parse(text, [], { allowTrailingComma: true }) as WorkerConfiguration;
  };
  return { producer: read("producer"), consumer: read("consumer"), poller: read("poller") };
}
