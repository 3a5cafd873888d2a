import type { BatchEvent } from "./batch-events.ts";

/** How scores are computed: by the real model beside the runtime, from shared words, or in constant time. */
const modes = ["minilm", "lexical", "instant"] as const;
export type Mode = (typeof modes)[number];

/** The RPC methods of `EventSender`. */
interface Watching extends Rpc.DurableObjectBranded {
  watch(requestId: string): Promise<void>;
}

/** The bindings and vars of `wrangler.jsonc`; vars are text. */
export interface Env {
  readonly STATE: KVNamespace;
  /** The queue that an event subscription would send to. */
  readonly EVENTS: Queue<BatchEvent>;
  readonly EVENT_SENDER: DurableObjectNamespace<Watching>;
  /** `on`: states of batches are reported as events. */
  readonly SEND_EVENTS: string;
  readonly MODE: string;
  /** How long a batch is `queued`, in milliseconds; 300 by default. `instant` does not wait. */
  readonly QUEUED_MS?: string;
  /** How long it is `running` after that, in milliseconds; 300 by default. */
  readonly RUNNING_MS?: string;
  /** The URL of the model process, such as `http://127.0.0.1:4321`. Used in mode `minilm` only. */
  readonly MODEL_URL?: string;
}

export function readMode(env: Env): Mode {
  const mode = modes.find((one) => one === env.MODE);
  if (mode === undefined) throw new Error(`MODE must be one of ${modes.join(", ")}, got ${JSON.stringify(env.MODE)}`);
  return mode;
}

export function sendsEvents({ SEND_EVENTS: text }: Env): boolean {
  if (text === "on" || text === "off") return text === "on";
  throw new Error(`SEND_EVENTS must be on or off, got ${JSON.stringify(text)}`);
}

const DEFAULT_WAIT_SECONDS = "300";

export function readMilliseconds(name: "QUEUED_MS" | "RUNNING_MS", env: Env): number {
  const text = env[name] ?? DEFAULT_WAIT_SECONDS;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${name} must be a whole number of milliseconds, 0 or more, got ${JSON.stringify(text)}`);
}
