import { COST_NOTE, showCost } from "./cost.ts";
import { ended } from "./follow.ts";
import { describeLeftovers, finishLeftovers } from "./leftovers.ts";
import { startProgress } from "./progress.ts";
import { pushAndFollow, type Followed, type Surroundings } from "./push-and-follow.ts";
import { showRankings, type PushedDocument } from "./rankings.ts";
import type { File, FileDocument } from "./read-file.ts";

/** How a demo ended. */
export interface DemoEnd {
  /** Whether it came to its end, however that was. */
  readonly complete: boolean;
  /** What did not succeed of what this run had in hand, a line each. */
  readonly shortcomings: readonly string[];
  /** Whether documents of an earlier run are lost: no run can bring them back. */
  readonly lostBefore: boolean;
}

/** Pushes the file, follows it to its end, and shows what D1 holds then. */
export async function runDemo(around: Surroundings, file: File, kill: boolean): Promise<DemoEnd> {
  const { stack, signal, output } = around;
  const api = () => ({ url: stack.url, key: around.key });
  const { leftovers } = stack;
  for (const line of describeLeftovers(leftovers)) console.log(line);
  const lostBefore = leftovers.lost.some(({ canceled }) => !canceled);
  const brokenOff = (shortcomings: readonly string[]): DemoEnd => ({ complete: false, shortcomings, lostBefore });

  const pushed = await pushAndFollow(around, file.bytes, kill);
  if (!pushed.ok) return brokenOff([pushed.error]);
  const { end, shortcomings } = pushed.value;
  const left = await finishLeftovers(leftovers, {
    api,
    signal,
    startProgress: (total) => startProgress(total, output),
    now: () => performance.now(),
  });
  if (signal.aborted) return brokenOff(["Stopped."]);

  console.log(
    `\n${await showRankings(stack.url, acceptedOf(file.documents, pushed.value), output.isTTY ? output.columns : Number.POSITIVE_INFINITY)}`,
  );
  console.log(`\n${await showCost(stack.url, { submission: end.id, ended: ended(end), tokens: end.usage.tokens })}`);
  console.log(`  ${COST_NOTE}`);
  return { complete: true, shortcomings: [...shortcomings, ...left], lostBefore };
}

function acceptedOf(documents: readonly FileDocument[], { end, rejected }: Followed): PushedDocument[] {
  return documents.filter(({ place }) => !rejected.has(place)).map((document) => ({ document, submission: end.id }));
}
