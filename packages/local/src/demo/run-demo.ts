import { describeStandIn, print } from "@sluice/client/terminal";
import { isAborted } from "../signals.ts";
import { COST_NOTE, describeMillion, showCost } from "./cost.ts";
import { ended } from "./follow.ts";
import { measureDocuments } from "./measure.ts";
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
  for (const line of describeLeftovers(leftovers)) print(line);
  const lostBefore = leftovers.lost.some(({ canceled }) => !canceled);
  const brokenOff = (shortcomings: readonly string[]): DemoEnd => ({ complete: false, shortcomings, lostBefore });

  if (isAborted(signal)) return brokenOff(["Stopped."]);

  const pushed = await pushAndFollow(around, file.bytes, kill);
  if (!pushed.ok) return brokenOff([pushed.error]);
  const { end, shortcomings } = pushed.value;
  const left = await finishLeftovers(leftovers, {
    api,
    signal,
    startProgress: (total) => startProgress(total, output),
    now: () => performance.now(),
  });
  if (isAborted(signal)) return brokenOff(["Stopped."]);

  const documents = acceptedOf(file.documents, pushed.value);
  print(`\n${await showRankings(stack.url, documents, output.isTTY ? output.columns : Number.POSITIVE_INFINITY)}`);
  print(describeStandIn(around.localAi) ?? "");
  const { totals, sizes } = measureDocuments(documents);
  const push = { submission: end.id, ended: ended(end), tokens: end.usage.tokens, killed: kill };
  print(`\n${await showCost(stack.url, push, sizes.get(end.id) ?? new Map())}`);
  print(`  ${COST_NOTE}`);
  print(`\n${describeMillion(totals)}`);
  return { complete: true, shortcomings: [...shortcomings, ...left], lostBefore };
}

function acceptedOf(documents: readonly FileDocument[], { end, rejected }: Followed): PushedDocument[] {
  return documents.filter(({ place }) => !rejected.has(place)).map((document) => ({ document, submission: end.id }));
}
