/** Every fault, with its probability at each opportunity in an average seed. */
export const FAULTS = {
  // A Worker, at any external call.
  worker_death_before_call: 0.01,
  worker_death_in_flight: 0.01,
  worker_death_after_call: 0.01,
  worker_frozen: 0.02,
  clocks_apart: 0.5,
  clocks_hours_apart: 0.1,
  // D1, from the start: its clock is hours off.
  d1_clock_off: 0.3,
  // D1, at any call.
  d1_error_before: 0.03,
  d1_error_after_commit: 0.03,
  d1_odd_error: 0.01,
  d1_constraint: 0.02,
  d1_stall_answered_late: 0.005,
  d1_stall_lost: 0.005,
  d1_late_commit: 0.005,
  d1_outage: 0.3,
  d1_down_for_a_while: 0.004,
  // D1, at a call that writes: it is full for a while. From the start: Sluice has a small limit for a while.
  d1_full: 0.02,
  database_limit: 0.4,
  // The Queue, at a send, a message or a delivery.
  queue_send_refused: 0.05,
  queue_send_error_after: 0.05,
  queue_down_for_a_while: 0.02,
  queue_redelivery: 0.1,
  queue_delay: 0.1,
  queue_delay_beyond_life: 0.025,
  queue_loss: 0.03,
  queue_acks_ignored: 0.05,
  queue_dead_letter: 0.15,
  queue_malformed: 0.06,
  // Cron, at a run.
  cron_missed: 0.15,
  cron_doubled: 0.1,
  cron_late: 0.1,
  // Workers AI, at a submit.
  submit_out_of_capacity: 0.06,
  submit_unclear: 0.04,
  submit_too_large: 0.02,
  submit_daily_limit: 0.02,
  submit_configuration: 0.02,
  submit_permanent: 0.02,
  submit_answer_lost: 0.05,
  submit_without_request_id: 0.02,
  // Workers AI, at a poll.
  poll_error: 0.05,
  poll_configuration: 0.02,
  poll_unknown_for_a_moment: 0.06,
  poll_answer_lost: 0.03,
  ai_stall: 0.02,
  // Workers AI, at a batch.
  batch_slow: 0.05,
  batch_stuck: 0.03,
  batch_forgotten: 0.03,
  batch_unpollable: 0.02,
  batch_failed: 0.03,
  batch_failed_in_part: 0.02,
  answer_shape_b: 0.3,
  answer_nested: 0.1,
  answer_stream: 0.1,
  answer_reordered: 0.5,
  answer_without_references: 0.5,
  // Workers AI, at an item of an answer.
  item_missing: 0.04,
  item_duplicate: 0.04,
  item_conflicting: 0.02,
  item_extra: 0.03,
  item_mismatched: 0.05,
  item_not_finite: 0.03,
  item_failed: 0.04,
  // Events of Workers AI, at a batch.
  event_lost: 0.1,
  event_repeated: 0.1,
  event_delayed: 0.1,
  event_reordered: 0.2,
  event_early: 0.15,
  event_foreign: 0.1,
  event_malformed: 0.05,
  // Documents and clients.
  poison: 0.03,
  document_never_answered: 0.02,
  client_new_version: 0.5,
  client_corrects_at_once: 0.1,
  client_rejected_lines: 0.15,
  client_other_body: 0.1,
  client_break_off: 0.1,
  client_stalls: 0.04,
  client_sends_twice: 0.3,
  client_cancel: 0.3,
  client_delete: 0.4,
  client_retry: 0.4,
  client_pause: 0.15,
  client_deletes_at_once: 0.04,
  client_retries_at_once: 0.15,
  client_insists: 0.15,
  client_delete_collection: 0.2,
} as const satisfies Record<string, number>;

export type ChosenFault = keyof typeof FAULTS;
export type Fault = ChosenFault | ObservedFault;

/** Faults that arise from combinations of those above; and adjustments of D1's clock, which are drawn separately. */
export const OBSERVED = [
  "d1_clock_set",
  "cron_overlapping",
  "batch_invalid_at_submit",
  "batch_invalid_at_poll",
  "item_invalid",
  "answer_of_old_dispatch",
  "polled_for_event",
  "worker_cut_off",
  "part_staged",
  "message_dead",
  "database_filled",
  "client_cancels_retry",
] as const;
type ObservedFault = (typeof OBSERVED)[number];

export const FAULT_NAMES: readonly Fault[] = [...(Object.keys(FAULTS) as ChosenFault[]), ...OBSERVED];
