import { FAULTS, type ChosenFault } from "./fault-rates.ts";

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

const RACES: readonly ChosenFault[] = [
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

/** Faults in the product's own code, limited to one kind of seed. */
const OWN: ReadonlySet<ChosenFault> = new Set(["d1_constraint", "d1_full", "database_limit"]);
const ALL = (Object.keys(FAULTS) as ChosenFault[]).filter((fault) => !OWN.has(fault));
/** The longest time that Workers AI takes for a batch in a seed of the kind `load`. */
export const MAX_LOAD_SERVICE_MS = 30_000;

export const KINDS: readonly [Kind, ...Kind[]] = [
  { name: "calm", share: 0.034, of: [], among: 0, times: 0 },
  { name: "mild", share: 0.11, of: ALL, among: 0.4, times: 0.7 },
  { name: "focused", share: 0.16, of: ALL, among: 0.12, times: 4 },
  { name: "awful", share: 0.15, of: ALL, among: 0.75, times: 1.5 },
  // Workers that race for the same job, and people who change their minds.
  { name: "racing", share: 0.1, of: RACES, among: 0.7, times: 4 },
  {
    name: "deleting",
    share: 0.09,
    of: [
      "worker_frozen",
      "batch_slow",
      "poll_unknown_for_a_moment",
      "answer_without_references",
      "item_missing",
      "poison",
      "client_new_version",
      "client_corrects_at_once",
      "client_delete",
      "client_deletes_at_once",
    ],
    among: 0.85,
    times: 8,
  },
  {
    name: "retrying",
    share: 0.1,
    of: [
      "worker_frozen",
      "d1_error_after_commit",
      "d1_stall_answered_late",
      "d1_late_commit",
      "cron_doubled",
      "poison",
      "document_never_answered",
      "client_retry",
      "client_retries_at_once",
    ],
    among: 0.85,
    times: 8,
    hasFrozenRetries: true,
  },
  {
    name: "pausing",
    share: 0.07,
    of: [
      "worker_frozen",
      "clocks_apart",
      "cron_doubled",
      "cron_late",
      "submit_answer_lost",
      "submit_daily_limit",
      "submit_configuration",
      "client_pause",
      "client_cancel",
      "client_delete",
      "client_deletes_at_once",
      "client_insists",
    ],
    among: 0.85,
    times: 8,
    hasPausesAtSubmits: true,
  },
  // Jobs of several submissions, some of them paused during a dispatch.
  {
    name: "sharing",
    share: 0.04,
    of: [
      "worker_death_in_flight",
      "worker_frozen",
      "cron_doubled",
      "queue_dead_letter",
      "submit_out_of_capacity",
      "submit_daily_limit",
      "submit_answer_lost",
      "batch_slow",
      "client_new_version",
      "client_corrects_at_once",
      "client_pause",
      "client_cancel",
      "client_delete",
    ],
    among: 0.8,
    times: 5,
    pushesShareJobs: true,
  },
  {
    name: "resending",
    share: 0.06,
    of: [
      "worker_frozen",
      "d1_error_after_commit",
      "d1_stall_answered_late",
      "queue_send_refused",
      "queue_send_error_after",
      "queue_delay",
      "queue_loss",
      "queue_down_for_a_while",
      "client_break_off",
      "client_stalls",
      "client_other_body",
      "client_sends_twice",
    ],
    among: 0.85,
    times: 6,
    hasResumedPushes: true,
  },
  // Pushes that are interrupted between staged and inline parts, and resumed.
  {
    name: "resuming",
    share: 0.04,
    of: [
      "worker_death_in_flight",
      "worker_frozen",
      "d1_error_before",
      "d1_error_after_commit",
      "d1_late_commit",
      "d1_constraint",
      "queue_send_refused",
      "queue_send_error_after",
      "queue_delay",
      "submit_daily_limit",
      "client_break_off",
      "client_stalls",
      "client_sends_twice",
    ],
    among: 0.7,
    times: 5,
    pushesAreMixed: true,
    hasResumedPushes: true,
  },
  {
    name: "load",
    share: 0.006,
    of: [
      "queue_redelivery",
      "cron_doubled",
      "cron_late",
      "answer_shape_b",
      "answer_nested",
      "answer_stream",
      "answer_reordered",
      "answer_without_references",
      "item_duplicate",
      "item_extra",
    ],
    among: 0.6,
    times: 1,
    isLoad: true,
  },
  // Accepted batches that return nothing, up to the limit.
  {
    name: "unanswered",
    share: 0.02,
    of: [
      "worker_death_in_flight",
      "worker_death_after_call",
      "submit_out_of_capacity",
      "submit_unclear",
      "submit_answer_lost",
      "submit_without_request_id",
      "ai_stall",
      "batch_forgotten",
      "batch_failed",
      "poison",
      "item_missing",
      "client_pause",
      "client_cancel",
      "client_retry",
    ],
    among: 0.85,
    times: 7,
  },
  // A database without room, for a while.
  {
    name: "full",
    share: 0.02,
    of: [
      "d1_full",
      "database_limit",
      "worker_death_in_flight",
      "worker_death_after_call",
      "worker_frozen",
      "d1_error_before",
      "d1_error_after_commit",
      "queue_redelivery",
      "queue_dead_letter",
      "queue_malformed",
      "cron_missed",
      "cron_doubled",
      "submit_answer_lost",
      "batch_forgotten",
      "poison",
      "client_sends_twice",
      "client_break_off",
      "client_cancel",
      "client_delete",
      "client_retry",
    ],
    among: 0.7,
    times: 2,
  },
  // Retention among retries, deletes, new versions, late answers and takeovers. Only if named: seeds of other kinds forget
  // too.
  {
    name: "forgetting",
    share: 0,
    of: [
      "worker_death_in_flight",
      "worker_frozen",
      "clocks_apart",
      "d1_error_before",
      "d1_error_after_commit",
      "d1_late_commit",
      "queue_redelivery",
      "queue_delay",
      "cron_missed",
      "cron_doubled",
      "submit_answer_lost",
      "batch_slow",
      "item_missing",
      "poison",
      "document_never_answered",
      "client_new_version",
      "client_corrects_at_once",
      "client_sends_twice",
      "client_delete",
      "client_cancel",
      "client_retry",
      "client_retries_at_once",
    ],
    among: 0.6,
    times: 4,
    forgets: true,
    hasFrozenRetries: true,
  },
];
