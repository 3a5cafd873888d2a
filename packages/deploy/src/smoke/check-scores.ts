import type { Document, Scorer } from "@sluice/client/library";
import { BEST, type SmokeDocument } from "./documents.ts";

/** Returns what is wrong with a document's scores, one line each. */
export function checkScores(pushed: SmokeDocument, found: Document | undefined, scorer: Scorer): string[] {
  const problem = (text: string) => [`${pushed.id}: ${text}`];
  if (found === undefined) return problem("not found");
  if (found.status !== "succeeded") {
    return problem(found.error === null ? found.status : `${found.error.code}, ${found.error.message}`);
  }
  const { scores } = found;
  const ids = scores.map(({ context_id }) => context_id).toSorted();
  const expected = pushed.contexts.map(({ id }) => id).toSorted();
  if (ids.join() !== expected.join()) return problem(`scores for ${ids.join(", ")} instead of ${expected.join(", ")}`);
  const ranks = scores.map(({ rank }) => rank);
  if (ranks.some((rank, index) => rank !== index + 1)) return problem(`ranks ${ranks.join(", ")}`);
  if (scores.some(({ score }, index) => score > (scores[index - 1]?.score ?? Number.POSITIVE_INFINITY))) {
    return problem("a higher score has a lower rank");
  }
  // `instant` scores by length.
  if (scorer !== "instant" && scores[0]?.context_id !== BEST) return problem("an unrelated context has the best score");
  return [];
}
