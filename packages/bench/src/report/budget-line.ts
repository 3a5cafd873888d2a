/** What was counted, beside what it may be. */
export interface BudgetLine {
  readonly what: string;
  readonly budget: string;
  readonly measured: string;
  readonly ok: boolean;
}
