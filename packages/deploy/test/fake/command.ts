import type { FakeAccount } from "./account.ts";

/** What a command prints, and the targets of a deployment. */
export interface Answer {
  readonly text: string;
  readonly targets?: readonly string[];
}

export type Values = Readonly<Record<string, string | boolean | undefined>>;
type Run = (account: FakeAccount, positionals: readonly string[], values: Values) => Answer;

export interface Command {
  readonly words: string;
  /** Options with a value, then flags. wrangler refuses others. */
  readonly options: readonly string[];
  readonly flags: readonly string[];
  readonly run: Run;
}

export const json = (value: unknown): Answer => ({ text: JSON.stringify(value, null, 2) });
export const text = (line: string): Answer => ({ text: line });
