import { CHAIN_ALIVE_MS } from "@sluice/pipeline/job/sql/poller-chain.ts";
import type { Caller } from "../world/caller.ts";
import type { Change } from "./changes.ts";

/** The chain of runs in D1. While it is alive, only the holder of its token may pass it on or end it. */
export class Chain {
  #held: { readonly token: string; readonly at: number } | null = null;

  /** Applies a change of the heartbeats that a Worker made at `now`. Returns its flaw, or `null`. */
  take([, event, name, token, at]: Change, { name: who, chainTokens }: Caller, now: number): string | null {
    if (name !== "chain") return null;
    const before = this.#held;
    this.#held = event === "delete" ? null : { token: String(token), at: Number(at) };
    const isOwn = before === null || chainTokens.has(before.token);
    if (event !== "delete") chainTokens.add(String(token));
    if (isOwn || (event === "update" && now - before.at > CHAIN_ALIVE_MS)) return null;
    return `${who} ${event}s the chain of another run, which was active ${now - before.at} ms ago`;
  }
}
