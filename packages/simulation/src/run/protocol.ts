/** What a process does with each seed. */
export type Program =
  | {
      readonly kind: "simulate";
      /** A mutation of the product by its name; `null`: as it is. */
      readonly mutation: string | null;
      readonly keepsTrace: boolean;
      /** The kind that every seed is of; each has its own where none is given. */
      readonly ofKind?: string | undefined;
    }
  | { readonly kind: "compare"; readonly faultless: boolean };

export interface ChildOrder {
  readonly seed: number;
}

export type ChildAnswer = { readonly kind: "ready" } | { readonly kind: "ran"; readonly result: unknown };
