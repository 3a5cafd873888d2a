import type { SeedResult } from "./run-seed.ts";

export interface ChildOrder {
  readonly seed: number;
  readonly keepsTrace: boolean;
}

export type ChildAnswer = { readonly kind: "ready" } | { readonly kind: "ran"; readonly result: SeedResult };
