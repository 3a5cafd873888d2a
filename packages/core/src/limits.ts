/**
 * Every limit in one place, with its source. "B" is bytes of UTF-8. 1 KB is 1,000 B, as Cloudflare counts.
 */

// What a user may send. Ours, except where said.
export const MAX_DOCUMENT_BYTES = 1_000_000;
export const MAX_CONTEXTS = 1_000;
export const MAX_DOCUMENT_ID_BYTES = 256;
export const MAX_CONTEXT_ID_BYTES = 512;
export const MAX_METADATA_BYTES = 4_096;
export const MAX_METADATA_DEPTH = 32;
export const MAX_LABEL_BYTES = 256;
export const MAX_JSON_BODY_BYTES = 10_000_000;
/** JSON pushes up to this many documents go to the interactive lane when the caller names none. */
export const INTERACTIVE_MAX_DOCUMENTS = 100;

// Queues: a message is at most 128,000 B, about 100 B of it metadata; a sendBatch 256,000 B and 100 messages.
export const MAX_PART_BYTES = 127_700;
export const MAX_SEND_BYTES = 255_800;
export const MAX_SEND_MESSAGES = 100;
/** Bytes that a message takes besides its body. */
export const MESSAGE_OVERHEAD_BYTES = 100;

/**
 * A part is packed into jobs whole. Twentieths of a job's limits keep jobs at least 95 % full
 * whichever limit binds.
 */
export const MAX_PART_DOCUMENTS = 500;
export const MAX_PART_CONTEXTS = 2_500;
/** Of the JSON list of its documents' ids: a twentieth of a job's. */
export const MAX_PART_ID_BYTES = 50_000;
/** Quotes and the comma around an id in a list. */
export const ID_FRAME_BYTES = 3;

// A job. The Batch API takes under 10 MB; the rest bounds memory and D1's 2 MB values.
export const MAX_JOB_BYTES = 9_500_000;
export const MAX_JOB_DOCUMENTS = 10_000;
export const MAX_JOB_CONTEXTS = 50_000;
/** The list of a job's documents is one D1 value (2,000,000 B at most). */
export const MAX_JOB_MEMBER_BYTES = 1_000_000;
/** What finalizing a job writes is one transaction; those stay near 5 MB. */
export const MAX_JOB_OUTCOME_BYTES = 4_500_000;
/**
 * Batches with a document in them that Workers AI may have accepted, confirmed or not: each of them may have
 * to be paid. A retry that somebody asks for starts from 0 again.
 */
export const MAX_BATCHES = 10;

// D1: a bound value is at most 2,000,000 B; a transaction is kept near 5 MB.
export const MAX_PARAMETER_BYTES = 1_900_000;
export const MAX_TRANSACTION_BYTES = 5_000_000;
/** Parts share a row of texts up to this size, so that one of a single document does not cost a row of its own. */
export const MAX_SHARED_TEXT_BYTES = 128_000;
