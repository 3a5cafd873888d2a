import { err, ok, type Result } from "@sluice/core";
import { NO_SIGNS, signsOf, signsOfHttp, type FailureSigns } from "./failure-signs.ts";

/**
 * Maximum bytes of an answer. The largest job (10,000 documents, 50,000 contexts) takes about 4 MB with every number at
 * full length; a Worker has 128 MB for text, values and everything else.
 */
export const MAX_ANSWER_BYTES = 16_000_000;

class AnswerTooLarge extends Error {}

/**
 * Converts the binding's result to a value. The platform parses a body only if its content type is exactly
 * `application/json`, and returns the stream otherwise; a service binding may return a Response or text. `signal`
 * aborts the reading.
 */
export async function readAnswer(answer: unknown, signal: AbortSignal): Promise<Result<unknown, FailureSigns>> {
  try {
    if (answer instanceof Response) {
      const text = answer.body === null ? "" : await readText(answer.body, signal);
      return answer.ok ? parseAnswer(text) : err(signsOfHttp(answer.status, answer.headers.get("retry-after"), text));
    }
    if (answer instanceof ReadableStream) return parseAnswer(await readText(answer, signal));
    if (typeof answer === "string") return parseAnswer(answer);
    return ok(answer);
  } catch (thrown) {
    if (!(thrown instanceof AnswerTooLarge)) throw thrown;
    return err({ ...NO_SIGNS, message: thrown.message, answerTooLarge: true });
  }
}

async function readText(stream: ReadableStream<unknown>, signal: AbortSignal): Promise<string> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", cancel);
  if (signal.aborted) cancel();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      bytes += sizeOf(value);
      if (bytes > MAX_ANSWER_BYTES) throw tooLarge();
      text += typeof value === "string" ? value : decoder.decode(value as ArrayBufferView, { stream: true });
    }
  } catch (thrown) {
    // An open stream occupies one of the few connections that a Worker may have.
    cancel();
    throw thrown;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function sizeOf(chunk: unknown): number {
  if (typeof chunk === "string") return chunk.length;
  if (chunk instanceof ArrayBuffer || ArrayBuffer.isView(chunk)) return chunk.byteLength;
  throw new TypeError("Workers AI answered with a stream that does not contain bytes.");
}

function tooLarge(): AnswerTooLarge {
  return new AnswerTooLarge(`Workers AI's answer is over ${MAX_ANSWER_BYTES} bytes: too large to read.`);
}

function parseAnswer(text: string): Result<unknown, FailureSigns> {
  if (text.length > MAX_ANSWER_BYTES) throw tooLarge();
  try {
    return ok(JSON.parse(text));
  } catch (thrown) {
    // Broken JSON must not be quoted, but a page or a line of plain text explains the failure.
    return err(signsOf(/^\s*[[{"]/.test(text) ? thrown : text));
  }
}
