/** What the parent is told about runtime processes. `died`: why, if not at wrangler's wish. */
export type RuntimeEvent =
  | { readonly runtime: "started"; readonly pid: number }
  | { readonly runtime: "ended"; readonly pid: number; readonly died: string | null };

/** What the parent sends to end wrangler and all its children, in order. */
export const STOP = "stop";
