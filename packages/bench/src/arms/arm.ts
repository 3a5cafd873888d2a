import type { Stack } from "../runtime/stack.ts";

export type ArmName = "floor" | "relay" | "tutorial" | "row-per-document" | "row-per-document-batched" | "sluice";

/** A design that takes documents in and ends with their scores in D1. */
export interface Arm {
  readonly name: ArmName;
  /** Where its scores are: `document_id` and `scores`. */
  readonly table: string;
  /** Takes NDJSON bodies in; done when it has answered for all of them. */
  push(stack: Stack, bodies: readonly string[]): Promise<void>;
  /** Waits until all of them are with Workers AI, where the design has such a point. */
  recorded(stack: Stack, documents: number): Promise<void>;
  /** Its cron run, where it has one. */
  poll(stack: Stack): Promise<void>;
  /** Whether every document has its scores. */
  isDone(stack: Stack, documents: number): Promise<boolean>;
}
