import type { RequestId, SubmissionId } from "@sluice/core";
import { toRequest, type BatchBinding, type Bounded } from "../src/index.ts";

export const MODEL = "@cf/baai/bge-m3";
export const REQUEST_ID = "0190f3c2-batch" as RequestId;
export const SUBMISSION = "sub_0190f3c2-0000-7000-8000-000000000001" as SubmissionId;
export const REQUESTS = [
  toRequest({
    submission: SUBMISSION,
    index: 0,
    query: "tea",
    contexts: ["green tea", "a lorry"],
    truncateInputs: true,
  }),
];

/** A call without a time limit. */
export const unbounded: Bounded = (call) => call;

/** A binding that answers with this value, like a service binding or the platform. */
export const answering = (answer: unknown): BatchBinding => ({ run: async () => answer });
export const throwing = (thrown: unknown): BatchBinding => ({ run: () => Promise.reject(thrown) });

export function streamOf(text: string, chunkBytes = 7): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) {
        controller.close();
        return;
      }
      controller.enqueue(bytes.subarray(at, at + chunkBytes));
      at += chunkBytes;
    },
  });
}
