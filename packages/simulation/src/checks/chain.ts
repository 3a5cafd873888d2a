import { CHAIN_ALIVE_MS } from "@sluice/pipeline/job/sql/poller-chain.ts";
import type { Caller } from "../world/caller.ts";
import type { Change } from "./changes.ts";

/** The chain of runs as D1 holds it: only who has its token may pass it on or end it, as long as it is alive. */
export class Chain {
  #held: { readonly token: string; readonly at: number } | null = null;

  /** Takes in a change of the heartbeats that `by` made at `now`. What is wrong with it, or `null`. */
  take([, event, name, token, at]: Change, { name: who, chainTokens }: Caller, now: number): string | null {
    if (name !== "chain") return null;
    const before = this.#held;
    this.#held = event === "delete" ? null : { token: String(token), at: Number(at) };
    const isOwn = before === null || chainTokens.has(before.token);
    if (event !== "delete") chainTokens.add(String(token));
    if (isOwn || (event === "update" && now - before.at > CHAIN_ALIVE_MS)) return null;
    return `${who} ${event}s the chain of another run, which gave a sign of life ${now - before.at} ms ago`;
  }
}
