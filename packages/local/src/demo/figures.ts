import { pad } from "@sluice/client/terminal";

export function sum<T>(list: readonly T[], figure: (one: T) => number): number {
  return list.reduce((total, one) => total + figure(one), 0);
}

/** Formats a line for one stage of the demo. */
export function stage(name: string, figure: string): string {
  return `${pad(name, 11, "left")} ${figure}`;
}
