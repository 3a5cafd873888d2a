import { startProgress } from "@sluice/client/progress";
import { describeStandIn, print } from "@sluice/client/terminal";
import { connect } from "./connect.ts";
import { COST_NOTE, describeMillion, showCost } from "./cost.ts";
import { describeLeftovers, finishLeftovers } from "./leftovers.ts";
import { measureFile } from "./measure.ts";
import { pushAndFollow, type Surroundings } from "./push-and-follow.ts";
import { showRankings } from "./rankings.ts";
import type { File } from "./read-file.ts";

/** How a demo ended. */
export interface DemoEnd {
  /** Whether it ran to its end, with or without shortcomings. */
  readonly complete: boolean;
  /** Shortcomings of this run, one line each. */
  readonly shortcomings: readonly string[];
  /** Whether documents of an earlier run are lost. No run can recover them. */
  readonly lostBefore: boolean;
}

/** Pushes the file, follows it to its end, and shows what the API returns. Throws when the signal aborts. */
export async function runDemo(around: Surroundings, file: File, kill: boolean): Promise<DemoEnd> {
  const { stack, signal, output } = around;
  const { leftovers } = stack;
  for (const line of describeLeftovers(leftovers)) print(line);
  const lostBefore = leftovers.lost.some(({ canceled }) => !canceled);
  signal.throwIfAborted();

  const pushed = await pushAndFollow(around, file, kill);
  if (!pushed.ok) return { complete: false, shortcomings: [pushed.error], lostBefore };
  const { end, back, shortcomings } = pushed.value;
  const client = connect(around);
  const now = () => performance.now();
  using progress = startProgress(output, print, now);
  const left = await finishLeftovers(leftovers, { client, signal, progress, now });
  progress.clear();

  const width = output.isTTY ? output.columns : Number.POSITIVE_INFINITY;
  print(`\n${await showRankings(client, end, { width, signal })}`);
  const { scorer } = await client.stats({ signal });
  print(describeStandIn(scorer) ?? "");
  const { totals, sizes } = measureFile(file, end.id);
  print(`\n${await showCost(client, stack.url, end, { jobIds: back.jobIds, sizes, killed: kill, signal })}`);
  print(`  ${COST_NOTE}`);
  print(`\n${describeMillion(totals)}`);
  return { complete: true, shortcomings: [...shortcomings, ...left], lostBefore };
}
