import type { Random } from "../random.ts";
import { streamOf } from "./forms.ts";

/** Draws the form of a Workers AI error with a code: thrown, returned or streamed. */
export function codedError(random: Random, code: number, words: string): () => unknown {
  const body = { success: false, errors: [{ code, message: words }], result: null };
  const form = random.int(0, 3);
  if (form === 0) return () => body;
  if (form === 1) return () => streamOf(JSON.stringify(body));
  return () => {
    throw named("InferenceUpstreamError", `${code}: ${words}`);
  };
}

/** Draws an error after which it is unknown whether the service acted on the call. */
export function unclearError(random: Random): Error {
  return random.pick([
    () => new Error(""),
    () => new Error("Network connection lost."),
    () =>
      named(
        "InferenceUpstreamError",
        "<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>",
      ),
    () => named("InferenceUpstreamError", "3007: Request timed out"),
    () => named("InferenceUpstreamError", "3008: Request was aborted"),
    () => named("InferenceUpstreamError", "error code: 1031"),
    () => new SyntaxError("Unexpected token '<', \"<html>\" is not valid JSON"),
    () => new DOMException("The operation was aborted.", "AbortError"),
  ])();
}

/** Draws a value that is neither an answer nor an error. */
export function unclearAnswer(random: Random): unknown {
  return random.pick<() => unknown>([
    () => ({}),
    () => null,
    () => "",
    () => streamOf("upstream connect error"),
    () => ({ success: false }),
    () => ({ result: {}, success: true }),
  ])();
}

function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}
