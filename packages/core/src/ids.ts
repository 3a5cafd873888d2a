import { toHex } from "./hex.ts";

/** Ids are branded so that a document id cannot be passed as a submission id. */
declare const brand: unique symbol;
type Brand<Name extends string> = string & { readonly [brand]: Name };

/** `sub_` and a UUIDv7. Later submissions have greater ids: the id is the version of its documents. */
export type SubmissionId = Brand<"SubmissionId">;
/** `job_` and a UUIDv7. */
export type JobId = Brand<"JobId">;
/** The id that the Batch API gives to an accepted batch. Opaque. */
export type RequestId = Brand<"RequestId">;

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Parses a submission id from a user; `null` if it is invalid. */
export function parseSubmissionId(text: string): SubmissionId | null {
  return text.startsWith("sub_") && UUID_V7.test(text.slice(4)) ? (text as SubmissionId) : null;
}

/** Parses a job id from a user; `null` if it is invalid. */
export function parseJobId(text: string): JobId | null {
  return text.startsWith("job_") && UUID_V7.test(text.slice(4)) ? (text as JobId) : null;
}

/**
 * Returns the random part of a UUIDv7 (RFC 9562), from 10 random bytes: everything after the 48-bit time. For
 * submissions D1 adds the time, so that each id is greater than all stored ones.
 */
export function uuidTail(random: Uint8Array): string {
  const hex = toHex(random.subarray(0, 10));
  const variant = (8 + (Number.parseInt(hex.charAt(3), 16) % 4)).toString(16);
  return `7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(8, 20)}`;
}

/** Returns a UUIDv7 from a time in milliseconds since the epoch and 10 random bytes. */
function uuidV7(now: number, random: Uint8Array): string {
  const time = now.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-${uuidTail(random)}`;
}

export function mintJobId(now: number, random: Uint8Array): JobId {
  return `job_${uuidV7(now, random)}` as JobId;
}

/** The id of a document without one: its submission and its number in the push. */
export function nameDocument(submission: string, index: number): string {
  return `${submission}-${index}`;
}

/** Links a request to its document across Workers AI: unique in a job, and the same for each dispatch. */
export function externalReference(submission: string, index: number): string {
  return `${submission}:${index}`;
}
