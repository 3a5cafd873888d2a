import type { Shown } from "../baselines/baseline.ts";
import { expectedScores } from "../checks/outcome-rules.ts";
import { isPoison, isUnanswerable } from "../world/accounts.ts";
import type { Push, PushedDocument } from "../world/pushes.ts";
import type { Design } from "./design.ts";

/** The fate of the documents of one or more seeds in one design. */
export interface Tally {
  /** Accepted and not pushed again, so that the expected version is known. */
  documents: number;
  /** Neither scores nor a failure are reported. */
  lost: number;
  /** Reported as in progress forever. */
  stranded: number;
  /**
   * The reported scores are not those of its own texts: they are another document's, an older version's, or no scores
   * at all.
   */
  wrong: number;
  /** Reported as failed, though the service would have scored it. */
  failed: number;
  /** Workers AI accepted it more than once; and of these, the ones that no table of the design records. */
  paidTwice: number;
  unrecorded: number;
  /** How often Workers AI accepted them. */
  paid: number;
}

export function emptyTally(): Tally {
  return { documents: 0, lost: 0, stranded: 0, wrong: 0, failed: 0, paidTwice: 0, unrecorded: 0, paid: 0 };
}

export function addTally(to: Tally, from: Tally): void {
  for (const name of Object.keys(to) as (keyof Tally)[]) to[name] += from[name];
}

/** Judges the final state that a design reports. `paid`: how often Workers AI accepted a document, by its query. */
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
      return matchTexts(shown.scores, document) ? null : "wrong";
  }
}

function matchTexts(scores: readonly (readonly [number, unknown])[], document: PushedDocument): boolean {
  const byIndex = (list: readonly (readonly unknown[])[]) =>
    JSON.stringify(list.map(([index, score]) => [index, score]).toSorted(([a], [b]) => Number(a) - Number(b)));
  return byIndex(scores) === byIndex(expectedScores(document));
}

/**
 * Returns the documents of accepted pushes whose newest version is certain: every other push of the same document,
 * accepted or not, ended before this one began.
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
      (other.inProgress === 0 && (other.lastEndedAt ?? Infinity) < (push.firstSentAt ?? 0)),
  );
}
