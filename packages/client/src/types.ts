/*
 * The HTTP API's own types, as the wire has them: snake_case, RFC 3339 times, every key present
 * (`null`, not absent) except a few that must be asked for. These files are their one source.
 */

export type * from "./types/documents.ts";
export type * from "./types/jobs.ts";
export type * from "./types/problem.ts";
export type * from "./types/rpc.ts";
