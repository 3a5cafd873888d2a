import type { DocumentIn } from "@sluice/client/library";

/** A document whose best context is obvious to any model. */
export interface SmokeDocument extends DocumentIn {
  readonly id: string;
  readonly contexts: readonly { readonly id: string; readonly text: string }[];
}

/** The id of the context that answers the query. It is not the first one, so that its rank must come from its score. */
export const BEST = "answer";

const PAIRS: readonly (readonly [query: string, answer: string])[] = [
  ["how long to boil an egg", "Boil an egg for six minutes for a soft yolk, or ten for a hard one."],
  ["capital city of France", "Paris is the capital city of France."],
  ["how to reset a forgotten password", "To reset a forgotten password, follow the link on the login page."],
  ["distance from the earth to the moon", "The distance from the earth to the moon is about 384,400 kilometers."],
  ["when to prune apple trees", "Prune apple trees in late winter, before the buds open."],
  ["how to remove red wine from a carpet", "Blot red wine from a carpet, then use salt and cold water."],
  ["boiling point of water at high altitude", "At high altitude the boiling point of water is below 100 degrees."],
  ["how to change a flat bicycle tire", "To change a flat bicycle tire, take the wheel off and replace the tube."],
  ["opening hours of the city library", "The city library opening hours are nine to six on weekdays."],
  ["how to back up a database", "Back up a database every night and test that it can be restored."],
  ["symptoms of iron deficiency", "Symptoms of iron deficiency are tiredness and pale skin."],
  ["how to train a puppy to sit", "Train a puppy to sit by lifting a treat above its nose."],
];

/** Two other answers serve as the wrong contexts. */
export const smokeDocuments: readonly SmokeDocument[] = PAIRS.map(([query, answer], index) => ({
  id: `smoke-${String(index + 1).padStart(2, "0")}`,
  query,
  contexts: [
    { id: "other-1", text: PAIRS[(index + 5) % PAIRS.length]?.[1] ?? "" },
    { id: BEST, text: answer },
    { id: "other-2", text: PAIRS[(index + 9) % PAIRS.length]?.[1] ?? "" },
  ],
}));
