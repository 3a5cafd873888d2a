export * from "./database.ts";
export { D1Timeout, isDatabaseFull, isTransient, withCauses, type RetryPolicy } from "./retry-policy.ts";
export { takeRows, type KnownSize } from "./usage.ts";
export * from "./schema.ts";
export * from "./schema-upkeep.ts";
export * as views from "./views.ts";
export * from "./queries.ts";
export * from "./statements.ts";
export * from "./find-missing-tables.ts";
