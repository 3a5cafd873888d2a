import { pushAcceptedShape } from "../answers/answers.ts";
import { makeCall, queryString, type Body, type Connection } from "../call.ts";
import { SluiceError, SluicePushError } from "../errors.ts";
import type { Lane, ProblemPlace, PushAccepted, RejectedLine, Submission } from "../types.ts";
import { isUnconnected } from "../transport.ts";
import { PushPart, type Held } from "./part.ts";
import type { PushResult } from "./result.ts";
import { SentCount } from "./sent.ts";
import { openSource, type PushInput } from "./source.ts";

/** Bytes of one request of a push. The API takes 100 MB, unpacked or not. */
export const MAX_REQUEST_BYTES = 90_000_000;
/** What the API sees as a push that someone waits for: so many documents of JSON, of at most 10 MB. */
const INTERACTIVE_ITEMS = 100;
const SMALL_BYTES = 10_000_000;

export interface PushOptions {
  /** `default` where not given. */
  readonly collection?: string | undefined;
  readonly model?: string | undefined;
  /** `interactive` for up to 100 documents, else `bulk`, where not given. */
  readonly lane?: Lane | undefined;
  readonly label?: string | undefined;
  /** Whether texts beyond the model's window are cut (the default) or refused. */
  readonly truncateInputs?: boolean | undefined;
  /**
   * Pushing the same documents under the same key again, within 24 h, goes on where it broke off and
   * scores none twice. A random one where not given: retries of this call are safe then, another call
   * is another push. 1 to 250 characters of printable ASCII.
   */
  readonly idempotencyKey?: string | undefined;
  /** Sends the body packed. */
  readonly gzip?: boolean | undefined;
  /**
   * Most bytes of one request; more documents are pushed as several submissions. They are held in
   * memory until the answer is there: give less than 90,000,000, the default, where memory is short.
   */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: PushProgress) => void) | undefined;
}

export interface PushProgress {
  /** Documents that went out, at most. Less than before where a request turns out to have found no connection. */
  readonly sent: number;
  /** Their bytes, unpacked. */
  readonly bytes: number;
  /** Requests that were answered. */
  readonly submissions: readonly Submission[];
  /** What is waited out before the request is made again, and for how many milliseconds. */
  readonly retry: { readonly error: SluiceError; readonly wait: number } | null;
}

/**
 * Pushes documents as NDJSON, streamed as they come. Each stands alone: refused ones are listed and
 * the others are taken in. Where none is, or the push cannot go on, throws a `SluicePushError`.
 */
export async function push(connection: Connection, input: PushInput, options: PushOptions): Promise<PushResult> {
  const { io } = connection;
  const mostBytes = Math.min(options.maxBytes ?? MAX_REQUEST_BYTES, MAX_REQUEST_BYTES);
  const idempotencyKey = options.idempotencyKey ?? io.uuid();
  if (!/^[\x20-\x7e]{1,250}$/.test(idempotencyKey)) {
    throw new TypeError("idempotencyKey must have 1 to 250 characters of printable ASCII");
  }
  const source = openSource(input, options.signal);
  let result: PushResult = { ...NOTHING, idempotencyKey };
  let refusal: SluiceError | null = null;
  let pushed = { items: 0, bytes: 0 };
  let sent = new SentCount();
  let over = false;
  const tell = (retry: PushProgress["retry"]) => {
    // A body that is given up may take one more chunk: what came of the push is told by then.
    if (over) return;
    const { submissions } = result;
    options.onProgress?.({ sent: pushed.items + sent.items, bytes: pushed.bytes + sent.bytes, submissions, retry });
  };
  try {
    let held: Held | null = null;
    for (let number = 1; number === 1 || held !== null; number += 1) {
      const part = new PushPart(source.next, mostBytes, held);
      const key = number === 1 ? idempotencyKey : `${idempotencyKey}.${number}`;
      const answer = await pushPart(connection, part, { key, first: number === 1, sent }, options, tell);
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

/** Pushes one part. A refusal of all of its lines is an answer too: those of other parts may be fine. */
async function pushPart(
  connection: Connection,
  part: PushPart,
  { key, first, sent }: { readonly key: string; readonly first: boolean; readonly sent: SentCount },
  options: PushOptions,
  tell: (retry: PushProgress["retry"]) => void,
): Promise<PartAnswer | SluiceError> {
  options.signal?.throwIfAborted();
  await part.fill(INTERACTIVE_ITEMS, SMALL_BYTES);
  const small = first && part.complete && part.held === null && part.count <= INTERACTIVE_ITEMS;
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
          sent.startTry(() => tell(null)),
        ),
      timeout: null,
      signal: options.signal,
      onFailure: (error) => sent.endTry(!isUnconnected(error.cause)),
      onRetry(error, wait) {
        part.throwSourceError();
        tell({ error, wait });
      },
    });
    return { accepted, alreadyThere: alreadyThere(accepted, headers) };
  } catch (error) {
    part.throwSourceError();
    if (!(error instanceof SluiceError)) throw error;
    // Blank lines behind what filled the request before are no reason to fail.
    if (error.code === "nothing-acceptable" || (error.code === "empty-body" && !first)) return error;
    throw error;
  }
}

/** Bare where that is safe: spaces at its ends would be lost, and a comma taken for two keys. */
function toHeader(key: string): string {
  return /^[^\s,"\\]+$/.test(key) ? key : `"${key.replaceAll(/["\\]/g, "\\$&")}"`;
}

function toBody(
  part: PushPart,
  gzip: boolean,
  signal: AbortSignal | undefined,
  onChunk: (items: number, bytes: number) => void,
): Body {
  // What is here and small goes out whole, with its length.
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

/** An answer says in its headers if it is an earlier one, or of a push that went on where another broke off. */
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

function isLine(place: ProblemPlace): place is RejectedLine {
  return "line" in place;
}
