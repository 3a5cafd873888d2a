import { fit, oneLine, pad } from "@sluice/client/terminal";

export const count = (n: number): string => n.toLocaleString("en-US");

export function sum<T>(list: readonly T[], figure: (one: T) => number): number {
  return list.reduce((total, one) => total + figure(one), 0);
}

export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** Two significant digits, or whole dollars from a thousand on; never in powers of ten. */
export function dollars(amount: number): string {
  if (amount === 0) return "$0";
  if (amount >= 1_000) return `$${count(Math.round(amount))}`;
  const digits = Math.min(12, Math.max(2, 1 - Math.floor(Math.log10(amount))));
  return `$${amount.toFixed(digits)}`;
}

/** One line of at most `width` cells of a terminal. */
export function cut(text: string, width: number): string {
  return fit(oneLine(text).trim(), width);
}

/** The stages of the way, each a line with its figure. */
export function stage(name: string, figure: string): string {
  return `${pad(name, 11, "left")} ${figure}`;
}
