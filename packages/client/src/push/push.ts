import { pushAcceptedShape } from "../answers/answers.ts";
import { makeCall, queryString, type Body, type Connection } from "../call.ts";
import { SluiceError, SluicePushError } from "../errors.ts";
import { isUnconnected } from "../transport.ts";
import type { Lane, ProblemPlace, PushAccepted, RejectedLine, Submission } from "../types.ts";
import { PushPart, type Held } from "./part.ts";
import type { PushResult } from "./result.ts";
import { SentCount } from "./sent.ts";
import { openSource, type PushInput } from "./source.ts";

/** Maximum bytes in one request of a push. The API accepts 100 MB, unpacked or not. */
export const MAX_REQUEST_BYTES = 90_000_000;
/** The API's limits of an interactive JSON push: this many documents, and 10 MB. */
const MAX_INTERACTIVE_ITEMS = 100;
const SMALL_BYTES = 10_000_000;

export interface PushOptions {
  /** `default` if absent. */
  readonly collection?: string | undefined;
  readonly model?: string | undefined;
  /** If absent: `interactive` for up to 100 documents, else `bulk`. */
  readonly lane?: Lane | undefined;
  readonly label?: string | undefined;
  /** Whether texts that exceed the model's window are truncated (the default) or refused. */
  readonly truncateInputs?: boolean | undefined;
  /**
   * A push of the same documents with the same key, within 24 h, resumes where the first was interrupted and scores no
   * document twice. The default is a random key: retries within this call are safe, but another call is another push. 1
   * to 250 printable ASCII characters.
   */
  readonly idempotencyKey?: string | undefined;
  /** Whether to compress the body. */
  readonly gzip?: boolean | undefined;
  /**
   * Maximum bytes of one request. Larger input is pushed as several submissions. The documents stay in memory until the
   * answer arrives: if memory is short, use less than the default of 90,000,000.
   */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: PushProgress) => void) | undefined;
}

export interface PushProgress {
  /** Maximum documents that were sent. Decreases if a request turns out to have had no connection. */
  readonly sent: number;
  /** Their bytes, unpacked. */
  readonly bytes: number;
  /** Answered requests. */
  readonly submissions: readonly Submission[];
  /** The error and the delay, in milliseconds, before the request is retried. */
  readonly retry: { readonly error: SluiceError; readonly wait: number } | null;
}

/**
 * Pushes documents as NDJSON, streamed as they are read. Documents are accepted or refused one by one: refused ones are
 * listed. Throws a `SluicePushError` if none is accepted, or if the push cannot continue.
 */
export async function push(connection: Connection, input: PushInput, options: PushOptions): Promise<PushResult> {
  const { io } = connection;
  const maxBytes = Math.min(options.maxBytes ?? MAX_REQUEST_BYTES, MAX_REQUEST_BYTES);
  const idempotencyKey = options.idempotencyKey ?? io.uuid();
  if (!/^[\x20-\x7e]{1,250}$/.test(idempotencyKey)) {
    throw new TypeError("idempotencyKey must have 1 to 250 printable ASCII characters");
  }
  const source = openSource(input, options.signal);
  let result: PushResult = { ...NOTHING, idempotencyKey };
  let refusal: SluiceError | null = null;
  let pushed = { items: 0, bytes: 0 };
  let sent = new SentCount();
  let over = false;
  const report = (retry: PushProgress["retry"]) => {
    // An abandoned body may take one more chunk after the result of the push is reported.
    if (over) return;
    const { submissions } = result;
    options.onProgress?.({ sent: pushed.items + sent.items, bytes: pushed.bytes + sent.bytes, submissions, retry });
  };
  try {
    let held: Held | null = null;
    for (let number = 1; number === 1 || held !== null; number += 1) {
      const part = new PushPart(source.next, maxBytes, held);
      const key = number === 1 ? idempotencyKey : `${idempotencyKey}.${number}`;
      const answer = await pushPart(connection, part, { key, first: number === 1, sent }, options, report);
      if (answer instanceof SluiceError) refusal = answer;
      result = addAnswer(result, answer, pushed.items);
      pushed = { items: pushed.items + part.count, bytes: pushed.bytes + part.bytes };
      sent = new SentCount();
      held = part.held;
    }
  } catch (error) {
    throw error instanceof SluiceError ? new SluicePushError(error, result, pushed.items + sent.items) : error;
  } finally {
    over = true;
    source.stop();
  }
  if (result.submissions.length === 0 && refusal !== null) throw new SluicePushError(refusal, result, pushed.items);
  return result;
}

const NOTHING: Omit<PushResult, "idempotencyKey"> = {
  submissions: [],
  accepted: 0,
  rejectedCount: 0,
  rejected: [],
  alreadyThere: 0,
};

interface PartAnswer {
  readonly accepted: PushAccepted;
  readonly alreadyThere: number;
}

/** Pushes one part. If all its lines are refused, that is a result too: other parts may have valid lines. */
async function pushPart(
  connection: Connection,
  part: PushPart,
  { key, first, sent }: { readonly key: string; readonly first: boolean; readonly sent: SentCount },
  options: PushOptions,
  report: (retry: PushProgress["retry"]) => void,
): Promise<PartAnswer | SluiceError> {
  options.signal?.throwIfAborted();
  await part.fill(MAX_INTERACTIVE_ITEMS, SMALL_BYTES);
  const small = first && part.complete && part.held === null && part.count <= MAX_INTERACTIVE_ITEMS;
  const { collection, model, lane = small ? "interactive" : undefined, label, truncateInputs } = options;
  const path = `/v1/documents${queryString({ collection, model, lane, label, truncate_inputs: truncateInputs })}`;
  const gzip = options.gzip ?? false;
  try {
    const { value: accepted, headers } = await makeCall(connection, {
      method: "POST",
      path,
      answer: pushAcceptedShape,
      headers: {
        "content-type": "application/x-ndjson",
        "idempotency-key": toHeader(key),
        ...(gzip && { "content-encoding": "gzip" }),
      },
      body: () =>
        toBody(
          part,
          gzip,
          options.signal,
          sent.startTry(() => report(null)),
        ),
      timeout: null,
      signal: options.signal,
      // A full database stores nothing of a push that it refuses.
      onFailure: (error) => sent.endTry(!isUnconnected(error.cause) && error.code !== "database-full"),
      onRetry(error, wait) {
        part.throwSourceError();
        report({ error, wait });
      },
    });
    return { accepted, alreadyThere: alreadyThere(accepted, headers) };
  } catch (error) {
    part.throwSourceError();
    if (!(error instanceof SluiceError)) throw error;
    // A part with only blank lines, after a full request, is not an error.
    if (error.code === "nothing-acceptable" || (error.code === "empty-body" && !first)) return error;
    throw error;
  }
}

/**
 * Writes the key without quotes if that is safe. Spaces at its ends would be lost, and a comma would make two keys of
 * it.
 */
function toHeader(key: string): string {
  return /^[^\s,"\\]+$/.test(key) ? key : `"${key.replaceAll(/["\\]/g, "\\$&")}"`;
}

function toBody(
  part: PushPart,
  gzip: boolean,
  signal: AbortSignal | undefined,
  onChunk: (items: number, bytes: number) => void,
): Body {
  // A small, complete body is sent in one piece with its length.
  if (!gzip && part.complete && part.bytes <= SMALL_BYTES) {
    onChunk(part.count, part.bytes);
    return part.text();
  }
  const chunks = part.chunks(onChunk);
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        signal?.throwIfAborted();
        const read = await chunks.next();
        if (read.done === true) controller.close();
        else controller.enqueue(read.value);
      },
    },
    { highWaterMark: 0 },
  );
  return gzip ? stream.pipeThrough(new CompressionStream("gzip")) : stream;
}

/** Whether the headers mark the answer as replayed, or as that of a resumed push. */
function alreadyThere({ accepted }: PushAccepted, headers: Headers): number {
  if (headers.get("idempotency-replayed") === "true") return accepted;
  return Math.min(accepted, Number(headers.get("idempotency-resumed") ?? 0) || 0);
}

function addAnswer(result: PushResult, answer: PartAnswer | SluiceError, itemsBefore: number): PushResult {
  const refused =
    answer instanceof SluiceError
      ? { count: answer.problem?.rejected_count ?? answer.errors.length, lines: answer.errors.filter(isLine) }
      : { count: answer.accepted.rejected_count, lines: answer.accepted.rejected };
  const rejected = refused.lines.map(({ line, detail }) => ({ line: line + itemsBefore, detail }));
  const rest = {
    rejectedCount: result.rejectedCount + refused.count,
    rejected: [...result.rejected, ...rejected],
  };
  if (answer instanceof SluiceError) return { ...result, ...rest };
  return {
    ...result,
    ...rest,
    submissions: [...result.submissions, answer.accepted.submission],
    accepted: result.accepted + answer.accepted.accepted,
    alreadyThere: result.alreadyThere + answer.alreadyThere,
  };
}

function isLine(location: ProblemPlace): location is RejectedLine {
  return "line" in location;
}
