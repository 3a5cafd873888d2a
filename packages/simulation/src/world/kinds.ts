import { FAULTS, type ChosenFault } from "./fault-rates.ts";
import { RACES, type Kind } from "./kind.ts";
import { PEOPLE_KINDS } from "./people-kinds.ts";

/** Faults in the product's own code, limited to one kind of seed. */
const OWN: ReadonlySet<ChosenFault> = new Set(["d1_constraint", "d1_full", "database_limit"]);
/** Faults that leave little of a seed, so that only one kind has them. */
const WIDE: ReadonlySet<ChosenFault> = new Set(["client_delete_collection"]);
const ALL = (Object.keys(FAULTS) as ChosenFault[]).filter((fault) => !OWN.has(fault) && !WIDE.has(fault));
/** The longest time that Workers AI takes for a batch in a seed of the kind `load`. */
export const MAX_LOAD_SERVICE_MS = 30_000;

export const KINDS: readonly [Kind, ...Kind[]] = [
  { name: "calm", share: 0.034, of: [], among: 0, times: 0 },
  { name: "mild", share: 0.11, of: ALL, among: 0.4, times: 0.7 },
  { name: "focused", share: 0.16, of: ALL, among: 0.12, times: 4 },
  { name: "awful", share: 0.15, of: ALL, among: 0.75, times: 1.5 },
  // Workers that race for the same job, and people who change their minds.
  { name: "racing", share: 0.1, of: RACES, among: 0.7, times: 4 },
  ...PEOPLE_KINDS,
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
