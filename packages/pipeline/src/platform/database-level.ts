import { databaseLevels, type DatabaseLevel } from "@sluice/core";

/** As shares of `MAX_DATABASE_BYTES`. */
const HIGH_FROM = 0.7;
const PRESSURE_FROM = 0.85;
export const FULL_FROM = 0.95;
/** A full database stays full until it is smaller than this, so that pushes are not accepted and refused in turn. */
export const FULL_UNTIL = 0.9;

/** D1's limit per database. */
export const MAX_D1_BYTES = 10_000_000_000;

/**
 * The level of a database of this size, which had the level `before`. From `high` on it is reported, from `pressure` on
 * retention ignores age, and at `full` no new push is accepted and no message is recorded.
 */
export function levelAfter(bytes: number, limit: number, before: DatabaseLevel): DatabaseLevel {
  if (bytes >= limit * (before === "full" ? FULL_UNTIL : FULL_FROM)) return "full";
  if (bytes >= limit * PRESSURE_FROM) return "pressure";
  return bytes >= limit * HIGH_FROM ? "high" : "normal";
}

/** Whether a level is at least as urgent as another. */
export function isAtLeast(level: DatabaseLevel, other: DatabaseLevel): boolean {
  return databaseLevels.indexOf(level) >= databaseLevels.indexOf(other);
}
