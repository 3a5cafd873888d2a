import { FAULT_NAMES, type Fault } from "../world/fault-rates.ts";
import type { SeedResult } from "./run-seed.ts";

/** Sums the results of seeds. */
export class Summary {
  readonly failed: SeedResult[] = [];
  readonly kinds = new Map<string, number>();
  readonly occurred = new Map<Fault, number>(FAULT_NAMES.map((fault) => [fault, 0]));
  seeds = 0;
  steps = 0;

  add(result: SeedResult): void {
    this.seeds += 1;
    this.steps += result.steps;
    this.kinds.set(result.kind, (this.kinds.get(result.kind) ?? 0) + 1);
    for (const [fault, count] of result.occurred) this.occurred.set(fault, (this.occurred.get(fault) ?? 0) + count);
    if (result.flaw !== null) this.failed.push(result);
  }

  get notOccurred(): Fault[] {
    return [...this.occurred].filter(([, count]) => count === 0).map(([fault]) => fault);
  }

  /** Formats the number of occurrences of each fault in two columns. */
  table(): string {
    const cells = [...this.occurred].map(([fault, count]) => `${fault.padEnd(34)}${String(count).padStart(8)}`);
    const half = Math.ceil(cells.length / 2);
    return cells
      .slice(0, half)
      .map((cell, index) => `  ${cell}    ${cells[half + index] ?? ""}`.trimEnd())
      .join("\n");
  }
}
