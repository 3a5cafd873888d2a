import type { Stack } from "../runtime/stack.ts";

export type ArmName = "floor" | "relay" | "tutorial" | "row-per-document" | "row-per-document-batched" | "sluice";

/** A design that accepts documents and ends with their scores in D1. */
export interface Arm {
  readonly name: ArmName;
  /** The table with its scores: `document_id` and `scores`. */
  readonly table: string;
  /** Accepts NDJSON bodies. Resolves when all of them are answered. */
  push(stack: Stack, bodies: readonly string[]): Promise<void>;
  /** Waits until Workers AI has all documents, if the design has such a state. */
  recorded(stack: Stack, documents: number): Promise<void>;
  /** Its cron run, if it has one. */
  poll(stack: Stack): Promise<void>;
  /** Whether every document has its scores. */
  isDone(stack: Stack, documents: number): Promise<boolean>;
}
