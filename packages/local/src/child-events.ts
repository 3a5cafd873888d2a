/**
 * What the parent hears of wrangler's child processes: the runtime, and esbuild, which goes on watching files
 * when wrangler is killed. `runtimeDied`: why a runtime ended, if not at wrangler's wish.
 */
export type ChildEvent =
  | { readonly child: "started"; readonly pid: number }
  | { readonly child: "ended"; readonly pid: number; readonly runtimeDied: string | null };

/** What the parent sends to end wrangler and all its children, in order. */
export const STOP = "stop";
