import type { Shown } from "../baselines/baseline.ts";
import { expectedScores } from "../checks/outcome-rules.ts";
import { isPoison, isUnanswerable } from "../world/accounts.ts";
import type { Push, PushedDocument } from "../world/pushes.ts";
import type { Design } from "./design.ts";

/** What became of the documents of a seed, or of many, in one design. */
export interface Tally {
  /** Accepted, and not pushed again since: a reader knows which version they should see. */
  documents: number;
  /** Nothing is shown for it, and nothing says that it failed. */
  lost: number;
  /** It is reported as in progress forever. */
  stranded: number;
  /** What is shown as its scores is not what its own texts give: another's, an older version's, or no scores. */
  wrong: number;
  /** It is said to have failed, though the service would have scored it. */
  failed: number;
  /** Workers AI took it in more than once, and of those: without a report of it in the design's tables. */
  paidTwice: number;
  unrecorded: number;
  /** Times that Workers AI took them in. */
  paid: number;
}

export function emptyTally(): Tally {
  return { documents: 0, lost: 0, stranded: 0, wrong: 0, failed: 0, paidTwice: 0, unrecorded: 0, paid: 0 };
}

export function addTally(to: Tally, from: Tally): void {
  for (const name of Object.keys(to) as (keyof Tally)[]) to[name] += from[name];
}

/** Judges what a design shows once time has passed. `paid`: how often Workers AI took a document in, by its query. */
export async function judge(design: Design, paid: ReadonlyMap<string, number>): Promise<Tally> {
  const tally = emptyTally();
  for (const [push, document] of settledDocuments(design.pushing.pushes)) {
    tally.documents += 1;
    const verdict = verdictOf(await design.read(push, document), document);
    if (verdict !== null) tally[verdict] += 1;
    const times = paid.get(document.query) ?? 0;
    tally.paid += times;
    if (times > 1) tally.paidTwice += 1;
    if (times > Math.max(1, design.recorded(push, document))) tally.unrecorded += 1;
  }
  return tally;
}

function verdictOf(shown: Shown, document: PushedDocument): "lost" | "stranded" | "wrong" | "failed" | null {
  switch (shown.state) {
    case "nothing":
      return "lost";
    case "pending":
      return "stranded";
    case "failed":
      return isPoison(document.query) || isUnanswerable(document.query) ? null : "failed";
    case "succeeded":
      return areItsOwn(shown.scores, document) ? null : "wrong";
  }
}

function areItsOwn(scores: readonly (readonly [number, unknown])[], document: PushedDocument): boolean {
  const byIndex = (list: readonly (readonly unknown[])[]) =>
    JSON.stringify(list.map(([index, score]) => [index, score]).toSorted(([a], [b]) => Number(a) - Number(b)));
  return byIndex(scores) === byIndex(expectedScores(document));
}

/**
 * The documents of accepted pushes whose newest version is beyond doubt: every other push of the same
 * document, accepted or not, was over before this one began.
 */
function settledDocuments(pushes: readonly Push[]): (readonly [Push, PushedDocument])[] {
  return pushes
    .filter((push) => push.accepted)
    .flatMap((push) =>
      push.documents.filter((document) => isNewest(push, document, pushes)).map((one) => [push, one] as const),
    );
}

function isNewest(push: Push, { id }: PushedDocument, pushes: readonly Push[]): boolean {
  if (id === null) return true;
  return pushes.every(
    (other) =>
      other === push ||
      other.firstSentAt === null ||
      other.collection !== push.collection ||
      !other.documents.some((document) => document.id === id) ||
      (other.underWay === 0 && (other.lastEndedAt ?? Infinity) < (push.firstSentAt ?? 0)),
  );
}
