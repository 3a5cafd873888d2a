export * from "./after-refusal.ts";
export * from "./dispatch-job.ts";
export * from "./io.ts";
export * from "./keep-back-paused.ts";
export * from "./pauses.ts";
export * from "./record-job.ts";
export * from "./settle-refusal.ts";
export * from "./step-io.ts";
