export * from "./around-database.ts";
export * from "./batch-service.ts";
export * from "./documents.ts";
export * from "./state.ts";
export * from "./test-context.ts";
export * from "./unreliable-database.ts";
