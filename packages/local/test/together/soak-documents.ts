import { instantScore } from "@sluice/local-ai/instant";
import type { OwnScore, PushedDocument } from "../kill-matrix/documents.ts";
import { WORDS } from "../kill-matrix/machine.ts";

const CONTEXTS = 3;
const CONTEXT_LENGTH = 4_400;
/** Lengths differ by less than this. */
const LENGTHS = 997;

/** A version of a document. Its name is in all its texts, and their lengths give each version its own scores. */
export interface SoakDocument extends PushedDocument {
  readonly collection: string;
  readonly name: string;
  readonly fails: boolean;
}

/** `seed`: a different one for each version. */
export function soakDocument(collection: string, id: string, seed: number, fails: boolean): SoakDocument {
  const name = `${collection}/${id}#${seed};`;
  return {
    collection,
    id,
    name,
    fails,
    // The stand-in counts failures per query.
    query: fails ? `${WORDS.weak} ${name}` : name,
    contexts: Array.from({ length: CONTEXTS }, (_, index) => ({
      id: `c${index}`,
      text: name.padEnd(CONTEXT_LENGTH + ((seed * 31 + index * 7) % LENGTHS), `${name} text `),
    })),
  };
}

/** The scores of the stand-in that does constant work, best first. */
export function instantScores({ contexts }: PushedDocument): OwnScore[] {
  return contexts
    .map(({ id, text }, index) => ({
      context_id: id,
      context_index: index,
      score: instantScore(index, text.length),
    }))
    .toSorted((a, b) => b.score - a.score || a.context_index - b.context_index)
    .map((one, index) => ({ ...one, rank: index + 1 }));
}

/** Numbers from 0 to below `limit`, the same for the same seed. */
export function seededNumbers(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    // The constants of Numerical Recipes.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
