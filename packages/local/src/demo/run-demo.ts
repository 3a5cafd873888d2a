import { describeStandIn, print } from "@sluice/client/terminal";
import { isAborted } from "../signals.ts";
import { counted, stage } from "./figures.ts";
import { COST_NOTE, describeMillion, showCost } from "./cost.ts";
import { ended } from "./follow.ts";
import { measureDocuments } from "./measure.ts";
import { lostDocuments } from "./kill.ts";
import { describeLeftovers, findLeftovers, finishLeftovers } from "./leftovers.ts";
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
  const leftovers = await findLeftovers(api());
  for (const line of describeLeftovers(leftovers)) print(line);
  const lostBefore = leftovers.lost.length > 0;
  const brokenOff = (shortcomings: readonly string[]): DemoEnd => ({ complete: false, shortcomings, lostBefore });

  if (isAborted(signal)) return brokenOff(["Stopped."]);

  const first = await pushAndFollow(around, file.bytes, kill);
  if (!first.ok) return brokenOff([first.error]);
  const pushes = [first.value];
  let documents = acceptedOf(file.documents, first.value);

  const accepted = documents.map(({ document }) => document);
  const lost = kill ? await lostDocuments(api(), first.value.end.id, accepted) : [];
  if (lost.length > 0) {
    print(stage("lost", `${counted(lost.length, "document")} in the local Queue, which is memory: pushed again`));
    const again = await pushAndFollow(around, Buffer.from(lost.map(({ line }) => line).join("\n")), false);
    if (!again.ok) return brokenOff([...first.value.shortcomings, again.error]);
    pushes.push(again.value);
    const moved = new Set(lost.map(({ place }) => place));
    documents = [
      ...documents.filter(({ document }) => !moved.has(document.place)),
      ...acceptedOf(
        lost.map((document, place) => ({ ...document, place })),
        again.value,
      ),
    ];
  }
  const left = await finishLeftovers(leftovers, {
    api,
    signal,
    startProgress: (total) => startProgress(total, output),
    now: () => performance.now(),
  });
  if (isAborted(signal)) return brokenOff(["Stopped."]);

  print(`\n${await showRankings(stack.url, documents, output.isTTY ? output.columns : Number.POSITIVE_INFINITY)}`);
  print(describeStandIn(around.localAi) ?? "");
  const { totals, sizes } = measureDocuments(documents);
  for (const [number, { end }] of pushes.entries()) {
    const killed = kill && number === 0;
    const push = { submission: end.id, ended: ended(end), tokens: end.usage.tokens, killed };
    print(`\n${await showCost(stack.url, push, sizes.get(end.id) ?? new Map())}`);
  }
  print(`  ${COST_NOTE}`);
  print(`\n${describeMillion(totals)}`);
  return { complete: true, shortcomings: [...pushes.flatMap((push) => push.shortcomings), ...left], lostBefore };
}

function acceptedOf(documents: readonly FileDocument[], { end, rejected }: Followed): PushedDocument[] {
  return documents.filter(({ place }) => !rejected.has(place)).map((document) => ({ document, submission: end.id }));
}
