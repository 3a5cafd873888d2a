/*
 * The types of the HTTP API as sent: snake_case, RFC 3339 times, every key present (`null`, not absent) except a few
 * that must be requested. These files are their only source.
 */

export type * from "./types/documents.ts";
export type * from "./types/jobs.ts";
export type * from "./types/problem.ts";
export type * from "./types/rpc.ts";

/** Whether pushed documents get scored. */
export interface Readiness {
  readonly ready: boolean;
  /** What is wrong; `null` if nothing is. */
  readonly detail: string | null;
}
