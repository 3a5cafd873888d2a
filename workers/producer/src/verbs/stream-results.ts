import { ok, type Result } from "@sluice/core";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import type { ApiContext, Reader } from "../context.ts";
import type { Problem } from "../http/problems.ts";
import { MAX_LIMIT } from "../http/query.ts";
import { readResultsPage } from "../results.ts";
import { findResults, type ResultsInput } from "./list-results.ts";

/**
 * All recorded documents of a submission as NDJSON, read from D1 a page at a time as the reader consumes them. If D1
 * fails, the stream ends with an error instead of its end.
 */
export async function streamResults(
  context: Reader & Pick<ApiContext, "log">,
  input: ResultsInput,
): Promise<Result<ReadableStream<Uint8Array>, Problem>> {
  const found = await findResults(context, input);
  if (!found.ok) return found;
  const { submission, view, start } = found.value;
  const encoder = new TextEncoder();
  let after = start;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const page = await readResultsPage(context, submission, view, after, MAX_LIMIT);
            after = page.next;
            const text = page.documents.map((document) => `${document}\n`).join("");
            if (text !== "") controller.enqueue(encoder.encode(text));
            if (after === null) return controller.close();
            if (text !== "") return;
          }
        } catch (error) {
          context.log({ event: "results_broke_off", submission: submission.id, ...describeError(error) });
          controller.error(new Error("the results were interrupted"));
        }
      },
    },
    { highWaterMark: 0 },
  );
  return ok(stream);
}
