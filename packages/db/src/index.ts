export * from "./database.ts";
export { D1Timeout, isPassing, withCauses, type Patience } from "./patience.ts";
export * from "./schema.ts";
export * from "./schema-upkeep.ts";
export * as views from "./views.ts";
export * from "./queries.ts";
export * from "./statements.ts";
export * from "./find-missing-tables.ts";
