import type { KillAt, StepPattern } from "./director.ts";
import type { KilledWorker } from "./step.ts";

const sql =
  (worker: KilledWorker) =>
  (what: string): StepPattern => ({ worker, asked: "DB", what });
const producer = sql("producer");
const consumer = sql("consumer");
const poller = sql("poller");

/** What the Workers ask for, by name: of SQL a piece that says which statement it is, or a transaction's telling one. */
export const steps = {
  // The producer.
  open: producer("INSERT INTO submissions"),
  send: { worker: "producer", asked: "INTERACTIVE", what: "sendBatch" },
  sendBulk: { worker: "producer", asked: "BULK", what: "sendBatch" },
  stage: producer("INSERT INTO staged_parts"),
  close: producer("UPDATE submissions SET closed_at"),
  keepAnswer: producer("UPDATE idempotency_keys SET fingerprint"),
  takeOver: producer("UPDATE submissions SET holder"),
  cancel: producer("UPDATE submissions SET cancel_requested_at"),
  retry: producer("UPDATE submissions SET failed = failed -"),
  delete: producer("DELETE FROM documents"),
  // The consumer.
  delivery: { worker: "consumer", asked: "run", what: "sluice-" },
  record: consumer("INSERT INTO parts"),
  startDispatch: consumer("dispatches = json_insert("),
  submit: { worker: "consumer", asked: "AI", what: "submit" },
  confirm: consumer("status = 'dispatched', request_id"),
  split: consumer("INSERT INTO jobs (id, model, lane, status, parent_id"),
  // The poller.
  claim: poller("UPDATE jobs SET due_at = iif("),
  claimReported: poller("UPDATE jobs INDEXED BY jobs_request SET due_at"),
  submitAgain: { worker: "poller", asked: "AI", what: "submit" },
  poll: { worker: "poller", asked: "AI", what: "poll" },
  finalize: poller("UPDATE jobs AS j SET status"),
  /** Finalizing with jobs that go on with some of the documents. */
  goOnWithSome: poller("INSERT INTO jobs (id, model, lane, status, parent_id"),
  endCanceled: poller("'canceled', model, 0"),
  recordStaged: poller("INSERT INTO parts"),
  sweep: poller("INSERT INTO sweeps"),
} satisfies Record<string, StepPattern>;

/** So that the Queue holds messages that nobody took. */
export const untaken = { holds: [steps.delivery] };
/** So that a push has no answer. */
export const unanswered = { holds: [steps.keepAnswer] };

type More = Partial<Pick<KillAt, "nth" | "holds">>;

/** Killed as the step was about to be done: it did not happen. */
export function before(step: StepPattern, more: More = {}): KillAt {
  return { ...step, nth: 1, moment: "before", ...more };
}

/** Killed when the step was done, and nobody knew it yet. */
export function after(step: StepPattern, more: More = {}): KillAt {
  return { ...step, nth: 1, moment: "after", ...more };
}
