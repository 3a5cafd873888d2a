/**
 * Reports about wrangler's child processes to the parent: the runtime, and esbuild, which keeps watching files after
 * wrangler is killed. `runtimeDied` is the reason a runtime ended, unless wrangler stopped it.
 */
export type ChildEvent =
  | { readonly child: "started"; readonly pid: number }
  | { readonly child: "ended"; readonly pid: number; readonly runtimeDied: string | null };

/** Sent by the parent to stop wrangler and its children in order. */
export const STOP = "stop";
