import type { BaselineEnv } from "./baseline.ts";
import { asItIs, sendEach } from "./send-each.ts";

/** A document in a message. */
export interface SentDocument {
  /** Minted by the producer for this push. A new push of the same document is another job. */
  readonly job: string;
  readonly collection: string;
  readonly id: string;
  readonly query: string;
  readonly contexts: readonly string[];
  readonly pushed_at: number;
}

interface PushedDocument {
  readonly id?: string;
  readonly query: string;
  readonly contexts: readonly (string | { readonly text: string })[];
}

/**
 * The producer of both baselines: it sends a message per document, in calls as large as the Queue accepts. NDJSON is
 * sent as it arrives. Throws if the Queue refuses a call. The client then gets an error although some of its documents
 * were sent: without a table of pushes, nobody knows which.
 */
export async function sendDocuments(
  env: BaselineEnv,
  collection: string,
  type: string,
  body: ReadableStream<Uint8Array>,
): Promise<string> {
  const push = env.uuid();
  let index = 0;
  const messageOf = ({ id, query, contexts }: PushedDocument): string => {
    const document: SentDocument = {
      job: `${push}-${index}`,
      collection,
      id: id ?? `${push}-${index}`,
      query,
      contexts: contexts.map((context) => (typeof context === "string" ? context : context.text)),
      pushed_at: env.now(),
    };
    index += 1;
    return JSON.stringify(document);
  };
  if (type === "application/x-ndjson") {
    await sendEach(body, env.QUEUE, (line) => {
      const document = readDocument(line);
      return document === null ? null : messageOf(document);
    });
    return push;
  }
  const { documents } = JSON.parse(await textOf(body)) as { documents: readonly PushedDocument[] };
  const lines = documents.map((document) => `${messageOf(document)}\n`).join("");
  await sendEach(streamOf(lines), env.QUEUE, asItIs);
  return push;
}

/** Reads a line; null if it is not a document. One such line does not fail the push. */
function readDocument(line: string): PushedDocument | null {
  try {
    const value = JSON.parse(line) as Partial<PushedDocument> | null;
    return typeof value?.query === "string" && Array.isArray(value.contexts) ? (value as PushedDocument) : null;
  } catch {
    return null;
  }
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body as unknown as AsyncIterable<Uint8Array>)
    text += decoder.decode(piece, { stream: true });
  return text + decoder.decode();
}

function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
}
