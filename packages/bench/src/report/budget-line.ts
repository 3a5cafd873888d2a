/** A measured value with its limit. */
export interface BudgetLine {
  readonly what: string;
  readonly budget: string;
  readonly measured: string;
  readonly ok: boolean;
}
