import { serializeDocument, type Document, type SerializedDocument } from "./document.ts";
import type { FieldProblem } from "./field-problems.ts";
import {
  ID_FRAME_BYTES,
  MAX_JOB_BYTES,
  MAX_JOB_CONTEXTS,
  MAX_JOB_DOCUMENTS,
  MAX_PART_BYTES,
  MAX_PART_CONTEXTS,
  MAX_PART_DOCUMENTS,
  MAX_PART_ID_BYTES,
} from "./limits.ts";
import type { ModelName } from "./models.ts";
import { OPERATIONS_PER_MESSAGE, PRICES, queueOperations } from "./prices.ts";
import type { Result } from "./result.ts";
import { utf8Length } from "./text.ts";
import { estimateTokens } from "./tokens.ts";

/** The totals of a push that determine its cost. */
export interface PushTotals {
  readonly documents: number;
  readonly contexts: number;
  readonly tokens: number;
  /** UTF-8 bytes in Batch API payloads. */
  readonly payloadBytes: number;
  /** The documents that fit in a message: their number, contexts, and bytes in messages. */
  readonly inline: {
    readonly documents: number;
    readonly contexts: number;
    readonly bytes: number;
    readonly idBytes: number;
  };
}

/** Bytes of a message without its documents: ids, options and a hash, with a collection name of 64 characters. */
const MESSAGE_FRAME_BYTES = 400;
/** Settings of a document in a long push. Its size does not depend on its index. */
const INDEX = 999_999;
/** A placeholder as long as the id of a document without one. */
const PLACEHOLDER_ID = `sub_${"0".repeat(36)}-${INDEX}`;

/** Serializes a document of a push that has no id yet, to check its size and to add it to a `PushTally`. */
export function measureDocument(document: Document): Result<SerializedDocument, FieldProblem> {
  return serializeDocument(document, document.id ?? PLACEHOLDER_ID, INDEX);
}

/** Adds up the documents of a push. */
export class PushTally {
  readonly #model: ModelName;
  #documents = 0;
  #contexts = 0;
  #tokens = 0;
  #payloadBytes = 0;
  readonly #inline = { documents: 0, contexts: 0, bytes: 0, idBytes: 0 };

  constructor(model: ModelName) {
    this.#model = model;
  }

  /** Adds a document with its size from `measureDocument`. */
  add(document: Document, { id, bytes, contexts, payloadBytes }: SerializedDocument): void {
    this.#documents += 1;
    this.#contexts += contexts;
    this.#tokens += estimateTokens(this.#model, document.query, document.contexts);
    this.#payloadBytes += payloadBytes;
    if (bytes + 1 > MAX_PART_BYTES - MESSAGE_FRAME_BYTES) return;
    this.#inline.documents += 1;
    this.#inline.contexts += contexts;
    this.#inline.bytes += bytes + 1;
    this.#inline.idBytes += utf8Length(id) + ID_FRAME_BYTES;
  }

  get totals(): PushTotals {
    return {
      documents: this.#documents,
      contexts: this.#contexts,
      tokens: this.#tokens,
      payloadBytes: this.#payloadBytes,
      inline: { ...this.#inline },
    };
  }
}

/** The totals of a push of `documents` documents with the average size of the given ones. */
export function scaleTotals(totals: PushTotals, documents: number): PushTotals {
  const factor = totals.documents === 0 ? 0 : documents / totals.documents;
  const { contexts, tokens, payloadBytes, inline } = totals;
  return {
    documents: Math.round(totals.documents * factor),
    contexts: contexts * factor,
    tokens: tokens * factor,
    payloadBytes: payloadBytes * factor,
    inline: {
      documents: Math.round(inline.documents * factor),
      contexts: inline.contexts * factor,
      bytes: inline.bytes * factor,
      idBytes: inline.idBytes * factor,
    },
  };
}

export interface PushCost {
  readonly messages: number;
  readonly jobs: number;
  readonly queueOperations: number;
  readonly rowsWritten: number;
  readonly usd: {
    readonly total: number;
    readonly workersAi: number;
    readonly queues: number;
    readonly d1: number;
    readonly workers: number;
  };
}

/** The assumptions of `estimateCost`, in a sentence for people and programs. */
export const COST_ASSUMPTION =
  "one push, full messages and batches, ten polls per batch, no retries; list prices without free tiers";

/** Messages in a delivery, from which jobs are made. */
export const DELIVERY_MESSAGES = 100;

/** Rows written per document: the document and its outcome. */
const ROWS_PER_DOCUMENT = 2;
/** Rows written per part: the part, its texts, and the new total of the submission. */
const ROWS_PER_MESSAGE = 3;
/** Additional rows written per staged part: the part and its key, and the deletion of the part. */
export const ROWS_PER_STAGED_PART = 3;
/** Rows written per job: 14 with one poll and 2 for each of nine more, including index entries. Counted by `bench`. */
const ROWS_PER_JOB = 32;
/**
 * Rows written per submission: the row, its counters when it is recorded and when it ends, its idempotency key with an
 * index entry, and the answer.
 */
const ROWS_PER_PUSH = 6;
/** Maximum rows read per document up to its outcome. */
const ROWS_READ_PER_DOCUMENT = 12;

/** Estimates the cost of a push from the totals of its documents. */
export function estimateCost({ documents, contexts, tokens, payloadBytes, inline }: PushTotals): PushCost {
  const staged = documents - inline.documents;
  const packed = packMessages(inline);
  const messages = packed.messages + staged;
  const operations = packed.operations + staged * OPERATIONS_PER_MESSAGE;
  const deliveries = Math.ceil(messages / DELIVERY_MESSAGES);
  const fullest = Math.max(payloadBytes / MAX_JOB_BYTES, documents / MAX_JOB_DOCUMENTS, contexts / MAX_JOB_CONTEXTS);
  const jobs = deliveries === 0 ? 0 : deliveries * Math.ceil(fullest / deliveries);
  const rowsWritten =
    documents === 0
      ? 0
      : documents * ROWS_PER_DOCUMENT +
        messages * ROWS_PER_MESSAGE +
        staged * ROWS_PER_STAGED_PART +
        jobs * ROWS_PER_JOB +
        ROWS_PER_PUSH;
  const requests = documents === 0 ? 0 : 1 + deliveries;
  const workersAi = tokens * PRICES.bgeM3Token;
  const queues = operations * PRICES.queueOperation;
  const d1 = rowsWritten * PRICES.rowWritten + documents * ROWS_READ_PER_DOCUMENT * PRICES.rowRead;
  const workers = requests * PRICES.workerRequest;
  return {
    messages,
    jobs,
    queueOperations: operations,
    rowsWritten,
    usd: { total: workersAi + queues + d1 + workers, workersAi, queues, d1, workers },
  };
}

/** Full messages of average documents, and one with the rest. */
function packMessages({ documents, contexts, bytes, idBytes }: PushTotals["inline"]): {
  readonly messages: number;
  readonly operations: number;
} {
  if (documents === 0) return { messages: 0, operations: 0 };
  const average = bytes / documents;
  const perMessage = Math.max(
    1,
    Math.floor(
      Math.min(
        (MAX_PART_BYTES - MESSAGE_FRAME_BYTES) / average,
        MAX_PART_DOCUMENTS,
        MAX_PART_CONTEXTS / (contexts / documents),
        MAX_PART_ID_BYTES / (idBytes / documents),
      ),
    ),
  );
  const full = Math.floor(documents / perMessage);
  const rest = documents - full * perMessage;
  const operationsOf = (count: number) =>
    OPERATIONS_PER_MESSAGE * queueOperations(MESSAGE_FRAME_BYTES + count * average);
  return rest === 0
    ? { messages: full, operations: full * operationsOf(perMessage) }
    : { messages: full + 1, operations: full * operationsOf(perMessage) + operationsOf(rest) };
}
