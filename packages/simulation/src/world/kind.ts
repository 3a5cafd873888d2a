import type { ChosenFault } from "./fault-rates.ts";

/** A kind of seed: the faults it may have, the probability `among` of having each, and a factor for their rates. */
export interface Kind {
  readonly name: string;
  readonly share: number;
  readonly of: readonly ChosenFault[];
  readonly among: number;
  readonly times: number;
  /** Whether its pushes are long and streamed under a key, with many staged parts among inline ones. */
  readonly pushesAreMixed?: true;
  /** Whether it pushes hundreds of small documents whose scores have a deadline. No fault delays them for long. */
  readonly isLoad?: true;
  /** Whether its pushes are small and grouped, so that they share jobs. */
  readonly pushesShareJobs?: true;
  /** Whether other clients resume interrupted pushes with another document. */
  readonly hasResumedPushes?: true;
  /** Whether a Worker may freeze between the reads and writes of a retry while another continues it. */
  readonly hasFrozenRetries?: true;
  /** Whether things are kept for minutes only. */
  readonly forgets?: true;
  /** Whether submits are slow and people pause during them. */
  readonly hasPausesAtSubmits?: true;
}

/** Faults that let Workers meet at the same row. */
export const RACES: readonly ChosenFault[] = [
  "worker_frozen",
  "clocks_apart",
  "d1_error_after_commit",
  "d1_stall_answered_late",
  "d1_late_commit",
  "queue_redelivery",
  "cron_doubled",
  "cron_late",
  "submit_out_of_capacity",
  "submit_answer_lost",
  "poll_unknown_for_a_moment",
  "batch_slow",
  "answer_without_references",
  "event_repeated",
  "event_early",
  "event_delayed",
  "client_cancel",
  "client_pause",
  "client_deletes_at_once",
];
