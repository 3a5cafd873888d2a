import { SluiceError, SluicePushError, type RejectedLine, type Sluice, type Submission } from "@sluice/client/library";
import type { Progress } from "@sluice/client/progress";
import { errorWords } from "@sluice/client/terminal";
import { err, ok, type Result } from "@sluice/core";
import type { File } from "./read-file.ts";
import { refusedLines } from "./refused.ts";

export interface Pushed {
  readonly submission: Submission;
  readonly accepted: number;
  readonly refusedCount: number;
  /** The first refused lines, in file order. */
  readonly refused: readonly RejectedLine[];
}

interface Pushing {
  /** A repeated key sends only the lost documents. */
  readonly key: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Pushes a file. Returns the API's message on an error. */
export async function pushFile(
  client: Pick<Sluice, "push">,
  file: File,
  { key, progress, signal }: Pushing,
): Promise<Result<Pushed, string>> {
  const rejectedOf = (rejected: readonly RejectedLine[]) =>
    [
      ...file.unreadable,
      // The client counts the lines it sends.
      ...rejected.map(({ line, detail }) => ({ line: file.documents[line - 1]?.line ?? line, detail })),
    ].toSorted((a, b) => a.line - b.line);
  try {
    const { submissions, accepted, rejected, rejectedCount } = await client.push(
      file.documents.map(({ text }) => text),
      {
        idempotencyKey: key,
        // A file uses the bulk lane, however short it is.
        lane: "bulk",
        signal,
        onProgress: ({ sent, bytes }) => progress.sending(sent, bytes, file.bytes),
      },
    );
    const [submission] = submissions;
    // The file fits in one request.
    if (submission === undefined || submissions.length > 1) throw new Error("a push must become one submission");
    const refusedCount = rejectedCount + file.unreadable.length;
    return ok({ submission, accepted, refusedCount, refused: rejectedOf(rejected) });
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SluiceError)) throw error;
    const refused = error instanceof SluicePushError ? rejectedOf(error.pushed.rejected) : [];
    return err([errorWords(error), ...refusedLines(refused)].join("\n"));
  }
}
