/** The work that a process does for each seed. */
export type Program =
  | {
      readonly kind: "simulate";
      /** The name of a mutation; `null` for the unchanged product. */
      readonly mutation: string | null;
      readonly keepsTrace: boolean;
      /** The kind of every seed. By default each seed determines its own. */
      readonly ofKind?: string | undefined;
    }
  | { readonly kind: "compare"; readonly faultless: boolean };

export interface ChildOrder {
  readonly seed: number;
}

export type ChildAnswer = { readonly kind: "ready" } | { readonly kind: "ran"; readonly result: unknown };
