import { plural } from "@sluice/client/terminal";
import { readUnfinished } from "@sluice/pipeline/submission/sql/read-unfinished.ts";
import { withStateDatabase } from "../state-database.ts";
import { sum } from "./figures.ts";
import { listed } from "./leftovers.ts";

/** Describes the documents that a stopped stack leaves unfinished. Its Workers must have ended. */
export async function describeStop(state: string): Promise<string> {
  const unfinished = await withStateDatabase(state, readUnfinished);
  const inD1 = sum(unfinished, (one) => one.recorded + one.staged);
  const queued = unfinished.flatMap((one) =>
    one.queued > 0 ? [{ submission: one.submission, documentCount: one.queued }] : [],
  );
  const lines = [`Stopped. The data is kept in ${state}.`];
  if (inD1 > 0) lines.push(`Unfinished: ${plural(inD1, "document")}. The next dev or demo finishes them.`);
  if (queued.length > 0) {
    const none = inD1 > 0 ? "" : " None of them is recorded.";
    lines.push(
      `Lost with the local Queue, which is in memory: ${listed(queued)}.${none} Push the same file again to score them.`,
    );
  }
  return lines.join("\n");
}
