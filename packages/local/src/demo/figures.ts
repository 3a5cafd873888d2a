import { pad } from "@sluice/client/terminal";

export function sum<T>(list: readonly T[], figure: (one: T) => number): number {
  return list.reduce((total, one) => total + figure(one), 0);
}

/** A line for a stage of the demo, with its figure. */
export function stage(name: string, figure: string): string {
  return `${pad(name, 11, "left")} ${figure}`;
}
