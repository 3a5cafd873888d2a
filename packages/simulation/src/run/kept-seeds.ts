interface KeptSeed {
  readonly seed: number;
  /** What it found. */
  readonly found: string;
}

/**
 * Seeds that failed once. `simulate` always runs them. A change to the simulation may change what a seed does:
 * it stays in the list all the same.
 */
export const KEPT_SEEDS: readonly KeptSeed[] = [
  { seed: 400, found: "a request that was overtaken while it took a push over was answered 422" },
  { seed: 102, found: "a document failed for a last batch that another Worker had taken back meanwhile" },
  { seed: 331, found: "a push that the poller closed while a request took it over was answered 422" },
  { seed: 149, found: "a first try to open a submission that D1 took up late opened a second one" },
  { seed: 428, found: "the same, between the read of the submission and that of its parts" },
];
