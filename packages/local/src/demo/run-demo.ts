import { counted, stage } from "./figures.ts";
import { COST_NOTE, showCost } from "./cost.ts";
import { ended } from "./follow.ts";
import { lostDocuments } from "./kill.ts";
import { finishLeftovers, tellLeftovers } from "./leftovers.ts";
import { pushAndFollow, type Followed, type Surroundings } from "./push-and-follow.ts";
import { showRankings, type PushedDocument } from "./rankings.ts";
import type { File, FileDocument } from "./read-file.ts";

/** Pushes the file, follows it to its end, and shows what D1 holds then. Gives what did not succeed, a line each. */
export async function runDemo(around: Surroundings, file: File, kill: boolean): Promise<readonly string[]> {
  const { stack, signal } = around;
  const api = () => ({ url: stack.url, key: around.key });
  const leftovers = await tellLeftovers(api());
  const first = await pushAndFollow(around, file.text, kill);
  if (!first.ok) return [first.error];
  const pushes = [first.value];
  let documents = acceptedOf(file.documents, first.value);

  const lost = kill
    ? await lostDocuments(
        api(),
        first.value.end.id,
        documents.map(({ document }) => document),
        signal,
      )
    : [];
  if (lost.length > 0) {
    console.log(stage("lost", `${counted(lost.length, "document")} in the local Queue, which is memory: pushed again`));
    const again = await pushAndFollow(around, lost.map(({ line }) => line).join("\n"), false);
    if (!again.ok) return [...first.value.shortcomings, again.error];
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
  await finishLeftovers(api, leftovers, signal);
  if (signal.aborted) return ["Stopped."];

  console.log(`\n${await showRankings(stack.url, documents)}`);
  for (const { end } of pushes) {
    console.log(`\n${await showCost(stack.url, { submission: end.id, ended: ended(end), ...end.usage })}`);
  }
  console.log(`  ${COST_NOTE}`);
  return pushes.flatMap(({ shortcomings }) => shortcomings);
}

function acceptedOf(documents: readonly FileDocument[], { end, rejected }: Followed): PushedDocument[] {
  return documents.filter(({ place }) => !rejected.has(place)).map((document) => ({ document, submission: end.id }));
}
