/** Unwraps an answer of Workers AI that may be a stream or wrapped. */
export async function plainAnswer(answer: unknown): Promise<unknown> {
  const value = answer instanceof ReadableStream ? parsed(await textOf(answer as ReadableStream<Uint8Array>)) : answer;
  if (typeof value !== "object" || value === null) return value;
  const { success, result } = value as { success?: unknown; result?: unknown };
  return success === true && typeof result === "object" ? result : value;
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of stream as unknown as AsyncIterable<Uint8Array>)
    text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
