import { InvalidArgumentError } from "commander";
import type { DocumentStatus, FailureCode, JobStatus, Lane, SubmissionStatusFilter } from "../types.ts";

/*
 * The allowed values of options. Every list mirrors the API's: a missing or an extra name fails to compile or fails a
 * test.
 */

function names<Name extends string>(all: Readonly<Record<Name, true>>): readonly Name[] {
  return Object.keys(all) as Name[];
}

export const documentStatuses = names<DocumentStatus>({
  queued: true,
  processing: true,
  succeeded: true,
  failed: true,
  canceled: true,
});

export const submissionFilters = names<SubmissionStatusFilter>({
  receiving: true,
  queued: true,
  processing: true,
  canceling: true,
  completed: true,
  canceled: true,
  stalled: true,
});

export const jobStatuses = names<JobStatus>({
  pending: true,
  dispatching: true,
  dispatched: true,
  succeeded: true,
  split: true,
  failed: true,
  canceled: true,
  merged: true,
});

export const failureCodes = names<FailureCode>({
  invalid_input: true,
  too_large: true,
  model_error: true,
  missing_result: true,
  mismatched_result: true,
  invalid_result: true,
  no_answer: true,
  refused: true,
  message_lost: true,
});

export const lanes = names<Lane>({ interactive: true, bulk: true });
export const models = ["@cf/baai/bge-m3"] as const;
export const scopes = ["ingest", "read", "admin"] as const;
export const includes = ["text", "metadata"] as const;

/** The largest page the API returns, and the most scores a document has. */
export const MAX_LISTED = 1_000;

/** Parses a whole number from 1 to `max`. */
export function wholeNumber(max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
  };
}

/** Parses an amount of dollars, such as `5`, `0.50` or `1e-7`. */
export function dollarsOf(text: string): number {
  if (/^\d+(\.\d+)?(e[+-]?\d{1,3})?$/i.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a number of dollars, such as 5 or 0.50.");
}

/** Parses a comma-separated list of known names. */
export function listOf<Name extends string>(all: readonly Name[]): (text: string) => Name[] {
  return (text) =>
    split(text).map((name) => {
      const known = all.find((one) => one === name);
      if (known !== undefined) return known;
      throw new InvalidArgumentError(`It must be one or more of ${all.join(", ")}, separated by commas.`);
    });
}

export function collectionName(text: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(text) && text !== "." && text !== "..") return text;
  throw new InvalidArgumentError("A collection name has 1 to 64 characters from A-Z a-z 0-9 . _ - and is not . or ..");
}

export function collectionNames(text: string): string[] {
  return split(text).map(collectionName);
}

/** Parses an idempotency key with the API's rules. */
export function keyOf(text: string): string {
  if (/^[\x20-\x7e]{1,250}$/.test(text)) return text;
  throw new InvalidArgumentError("It must have 1 to 250 printable ASCII characters.");
}

function split(text: string): string[] {
  return text.split(",").map((one) => one.trim());
}
