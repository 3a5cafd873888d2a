/**
 * Every limit in one place, with its source. "B" is bytes of UTF-8. 1 KB is 1,000 B, as in Cloudflare's documentation.
 */

// User input. Our own limits, unless stated otherwise.
export const MAX_DOCUMENT_BYTES = 1_000_000;
export const MAX_CONTEXTS = 1_000;
export const MAX_DOCUMENT_ID_BYTES = 256;
export const MAX_CONTEXT_ID_BYTES = 512;
export const MAX_METADATA_BYTES = 4_096;
export const MAX_METADATA_DEPTH = 32;
export const MAX_LABEL_BYTES = 256;
export const MAX_JSON_BODY_BYTES = 10_000_000;
/** JSON pushes up to this many documents use the interactive lane by default. */
export const INTERACTIVE_MAX_DOCUMENTS = 100;

// Queues: a message is at most 128,000 B, about 100 B of it metadata; a sendBatch 256,000 B and 100 messages.
export const MAX_PART_BYTES = 127_700;
export const MAX_SEND_BYTES = 255_800;
export const MAX_SEND_MESSAGES = 100;
/** Bytes of a message in addition to its body. */
export const MESSAGE_OVERHEAD_BYTES = 100;

/**
 * A part goes into a job as a whole. Limiting parts to a twentieth of a job's limits fills jobs to at least 95 %,
 * whichever limit is reached first.
 */
export const MAX_PART_DOCUMENTS = 500;
export const MAX_PART_CONTEXTS = 2_500;
/** Bytes of the JSON list of its documents' ids: a twentieth of a job's. */
export const MAX_PART_ID_BYTES = 50_000;
/** Quotes and the comma around an id in a list. */
export const ID_FRAME_BYTES = 3;

// A job. The Batch API accepts less than 10 MB. The other limits bound memory and D1's 2 MB values.
export const MAX_JOB_BYTES = 9_500_000;
export const MAX_JOB_DOCUMENTS = 10_000;
export const MAX_JOB_CONTEXTS = 50_000;
/** The list of a job's documents is one D1 value (2,000,000 B at most). */
export const MAX_JOB_MEMBER_BYTES = 1_000_000;
/** Finalizing a job is one transaction; those stay near 5 MB. */
export const MAX_JOB_OUTCOME_BYTES = 4_500_000;
/**
 * Batches with a document that Workers AI may have accepted, confirmed or not: each may have to be paid for. A
 * requested retry restarts the count from 0.
 */
export const MAX_BATCHES = 10;

// D1: a bound value is at most 2,000,000 B; a transaction is kept near 5 MB.
export const MAX_PARAMETER_BYTES = 1_900_000;
export const MAX_TRANSACTION_BYTES = 5_000_000;
/** Parts share a row of texts up to this size, so that a part with a single document does not need its own row. */
export const MAX_SHARED_TEXT_BYTES = 128_000;
