export * from "./binding.ts";
export * from "./bounded.ts";
export type { FailureClass, Refusal } from "./failure-classes.ts";
export * from "./match-answer.ts";
export * from "./poll-batch.ts";
export * from "./request.ts";
export * from "./submit-batch.ts";
