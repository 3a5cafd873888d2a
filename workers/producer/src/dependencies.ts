import type { Lane } from "@sluice/core";
import type { Database } from "@sluice/db";
import type { ApiKey } from "./http/keys.ts";
import type { Log } from "./log.ts";

/** The one thing that is done to a Queue. */
export interface SendQueue {
  sendBatch(messages: Iterable<{ body: string; contentType: "text" }>): Promise<unknown>;
}

/** Everything outside that a request is answered with. */
export interface Dependencies {
  readonly db: Database;
  readonly queues: Readonly<Record<Lane, SendQueue>>;
  readonly keys: readonly ApiKey[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly log: Log;
}

/** A request whose key was checked, on its way to the handler of its route. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  /** From the path, decoded once. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly key: ApiKey;
}

export type Handler = (dependencies: Dependencies, call: Call) => Promise<Response>;
