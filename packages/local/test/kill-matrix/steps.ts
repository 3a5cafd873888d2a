import type { KillAt, StepPattern } from "./director.ts";
import type { KilledWorker } from "./step.ts";

const sql =
  (worker: KilledWorker) =>
  (what: string): StepPattern => ({ worker, asked: "DB", what });
const producer = sql("producer");
const consumer = sql("consumer");
const poller = sql("poller");

/**
 * The steps of the Workers by name. SQL is identified by a substring of the statement, and a transaction by a
 * characteristic one.
 */
export const steps = {
  // The producer.
  open: producer("INSERT INTO submissions"),
  send: { worker: "producer", asked: "INTERACTIVE", what: "sendBatch" },
  sendBulk: { worker: "producer", asked: "BULK", what: "sendBatch" },
  stage: producer("INSERT INTO staged_parts"),
  close: producer('"closed_at" = '),
  keepAnswer: producer('update "idempotency_keys" set "fingerprint"'),
  takeOver: producer("UPDATE submissions SET holder"),
  cancel: producer("UPDATE submissions SET cancel_requested_at"),
  retry: producer("UPDATE submissions SET failed = failed -"),
  delete: producer("DELETE FROM documents"),
  // The consumer.
  delivery: { worker: "consumer", asked: "run", what: "sluice-" },
  record: consumer("INSERT INTO parts"),
  startDispatch: consumer("dispatches = json_insert("),
  submit: { worker: "consumer", asked: "AI", what: "submit" },
  confirm: consumer("'$[#-1].request_id'"),
  split: consumer("INSERT INTO jobs (id, model, lane, status, parent_id"),
  // The poller.
  claim: poller("UPDATE jobs SET due_at = iif("),
  claimReported: poller("UPDATE jobs INDEXED BY jobs_request SET due_at"),
  submitAgain: { worker: "poller", asked: "AI", what: "submit" },
  poll: { worker: "poller", asked: "AI", what: "poll" },
  finalize: poller("UPDATE jobs AS j SET status"),
  /** Finalizing with follow-up jobs for some of the documents. */
  goOnWithSome: poller("INSERT INTO jobs (id, model, lane, status, parent_id"),
  endCanceled: poller("'canceled', model, 0"),
  recordStaged: poller("INSERT INTO parts"),
  sweep: poller("INSERT INTO sweeps"),
} satisfies Record<string, StepPattern>;

/** Leaves messages in the Queue that no consumer has accepted. */
export const untaken = { holds: [steps.delivery] };
/** Leaves a push without an answer. */
export const unanswered = { holds: [steps.keepAnswer] };

type More = Partial<Pick<KillAt, "nth" | "holds">>;

/** Killed before the step: it did not happen. */
export function before(step: StepPattern, more: More = {}): KillAt {
  return { ...step, nth: 1, moment: "before", ...more };
}

/** Killed after the step, before anyone knew its result. */
export function after(step: StepPattern, more: More = {}): KillAt {
  return { ...step, nth: 1, moment: "after", ...more };
}
