import { toHex } from "./hex.ts";

/** Ids are branded so that a document id cannot be passed where a submission id is wanted. */
declare const brand: unique symbol;
type Brand<Name extends string> = string & { readonly [brand]: Name };

/** `sub_` and a UUIDv7. Later submissions have greater ids: the id is the version of its documents. */
export type SubmissionId = Brand<"SubmissionId">;
/** `job_` and a UUIDv7. */
export type JobId = Brand<"JobId">;
/** What the Batch API calls a batch it took in. Opaque. */
export type RequestId = Brand<"RequestId">;

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A submission id as a user wrote it, or `null` when it cannot be one. */
export function parseSubmissionId(text: string): SubmissionId | null {
  return text.startsWith("sub_") && UUID_V7.test(text.slice(4)) ? (text as SubmissionId) : null;
}

/** A job id as a user wrote it, or `null` when it cannot be one. */
export function parseJobId(text: string): JobId | null {
  return text.startsWith("job_") && UUID_V7.test(text.slice(4)) ? (text as JobId) : null;
}

/**
 * The random half of a UUIDv7 (RFC 9562), from 10 random bytes: everything behind the 48-bit time.
 * D1 puts the time in front of a submission's, so that it is greater than every one it holds.
 */
export function uuidTail(random: Uint8Array): string {
  const hex = toHex(random.subarray(0, 10));
  const variant = (8 + (Number.parseInt(hex.charAt(3), 16) % 4)).toString(16);
  return `7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(8, 20)}`;
}

/** A UUIDv7 from a time in milliseconds since the epoch and 10 random bytes. */
function uuidV7(now: number, random: Uint8Array): string {
  const time = now.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-${uuidTail(random)}`;
}

export function mintJobId(now: number, random: Uint8Array): JobId {
  return `job_${uuidV7(now, random)}` as JobId;
}

/** A document without an id is named after its submission and its place in the push. */
export function nameDocument(submission: string, place: number): string {
  return `${submission}-${place}`;
}

/** Ties a request to its document across Workers AI: unique in a job, and the same at each try. */
export function externalReference(submission: string, place: number): string {
  return `${submission}:${place}`;
}
