interface KeptSeed {
  readonly seed: number;
  /** The bug that it found. */
  readonly found: string;
}

/**
 * Seeds that once failed. `simulate` always runs them. They stay in the list even if a change to the simulation changes
 * what they do.
 */
export const KEPT_SEEDS: readonly KeptSeed[] = [
  { seed: 400, found: "a request that was overtaken while it took over a push got 422" },
  { seed: 102, found: "a document failed because of a last batch that another Worker had taken back" },
  { seed: 331, found: "a push that the poller closed while a request took it over got 422" },
  { seed: 149, found: "a first attempt to open a submission, committed late by D1, opened a second one" },
  { seed: 428, found: "the same, between the read of the submission and that of its parts" },
  {
    seed: 98688326,
    found: "a job kept the weight of a deleted document after a paused submission was separated from it",
  },
  { seed: 254649683, found: "the newest row of texts went with forgotten versions, and its number was used again" },
];
