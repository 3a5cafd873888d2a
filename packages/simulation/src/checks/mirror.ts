import type { Caller } from "../world/caller.ts";
import { rowOf, type Change, type JobRow, type OutcomeRow, type SubmissionRow } from "./changes.ts";
import { pollFlaw, startTimeFlaw } from "./dispatches.ts";
import { Chain } from "./chain.ts";
import { Deletions } from "./deletions.ts";
import { forgottenFlaw } from "./malformed.ts";
import { jobCountsFlaw } from "./job-counts.ts";
import { holdFlaw, isPieceOfInvalid, jobFlaw, laneFlaw, newJobFlaw, originOf, wasRefused } from "./job-rules.ts";
import { openJobsFlaw, outcomeFlaw } from "./outcome-rules.ts";
import { activityFlaw, idFlaw } from "./time-rules.ts";
import { Pauses } from "./pauses.ts";
import { Retention } from "./retention.ts";
import { Retries } from "./retries.ts";
import type { Rules } from "./rules.ts";
import { Sequences } from "./sequences.ts";
import { SubmitRate } from "./submit-rate.ts";
import { cancellationFlaw, countsFlaw, holderOf, submissionFlaw } from "./submission-rules.ts";
import { Texts } from "./texts.ts";
import { Transaction } from "./transaction.ts";
import { countRefused, countSilence, countUnconfirmed, countUsage } from "./usage.ts";
import {
  isOpen,
  listOf,
  dispatchIn,
  newJob,
  newSubmission,
  newVersion,
  recordVersion,
  startOver,
  takeStagedPart,
  versionKey,
  type Dispatch,
  type Job,
  type Submission,
  type Version,
  type VersionKey,
} from "./state.ts";

/**
 * Mirrors D1 row by row as transactions commit, and checks the invariants after each: every document that has not ended
 * is in exactly one open job, counters equal the rows, immutable rows never change, and D1 contains no result that
 * Workers AI did not return.
 */
export class Mirror {
  readonly submissions = new Map<string, Submission>();
  readonly versions = new Map<VersionKey, Version>();
  readonly jobs = new Map<string, Job>();
  readonly pauses: Pauses;
  readonly retries = new Retries();
  readonly deletions = new Deletions();
  /** The staged parts by submission and number, with the time of each. */
  readonly staged = new Map<string, number>();
  readonly #rules: Rules;
  readonly #retention: Retention;
  readonly #rate = new SubmitRate();
  readonly #chain = new Chain();
  readonly #texts = new Texts();
  readonly #sequences = new Sequences();
  readonly #startedBy = new Map<Caller, readonly Dispatch[]>();
  #transaction = new Transaction([]);

  constructor(rules: Rules) {
    this.#rules = rules;
    this.pauses = new Pauses(rules.now, rules.worldNow);
    this.#retention = new Retention(rules.retention, this);
  }

  /** Applies the changes of one transaction that `by` committed. */
  apply(changes: readonly Change[], by: Caller): void {
    if (changes.length === 0) return;
    this.#transaction = new Transaction(changes);
    this.#retention.begin(this.#rules.now(), this.#rules.clockSetSince(by.startedAt));
    const newJobs: Job[] = [];
    for (const change of changes) {
      const [table, event] = change;
      if (table === "submissions") this.#submission(event, rowOf("submissions", change), by);
      else if (table === "documents") this.#document(event, change);
      else if (table === "outcomes") this.#outcome(event, rowOf("outcomes", change));
      else if (table === "jobs") this.#job(event, rowOf("jobs", change), by, newJobs);
      else if (table === "parts") this.#part(event, change);
      else if (table === "contexts") this.#report(this.#texts.take(event, change, this.#transaction, this.#retention));
      else if (table === "staged_parts") takeStagedPart(this.staged, change);
      else if (table === "pauses") this.pauses.take(event, change);
      else if (table === "retries") this.#retry(event, change);
      else if (table === "malformed_messages") {
        // Retention may delete what is old.
        if (!this.#transaction.isRetention) this.#report(forgottenFlaw(event, change, by));
      } else if (table === "collection_deletions") this.#report(this.deletions.take(event, change, this.submissions));
      else if (table === "heartbeats") this.#report(this.#chain.take(change, by, this.#rules.now()));
    }
    for (const job of newJobs) {
      job.origin = originOf(job, this.jobs, this.#transaction.retried.size > 0);
      job.isPieceOfInvalid = isPieceOfInvalid(job, this.jobs);
      this.#report(newJobFlaw(job, this.jobs));
    }
    this.#report(this.#transaction.retriedFlaw(newJobs));
    this.#report(this.#sequences.flawIn(this.#transaction.sequences));
    for (const job of this.#transaction.jobs) this.#report(jobCountsFlaw(job, (key) => this.version(key)));
    if (changes.some(([table]) => table === "jobs" || table === "pauses")) this.#report(this.pauses.flawIn(this.jobs));
    for (const version of this.#transaction.versions) this.#report(openJobsFlaw(version));
    for (const submission of this.#transaction.submissions)
      this.#report(countsFlaw(submission) ?? this.retries.flawIn(submission));
  }

  /** Finds the dispatch that this invocation started for exactly these requests and has not submitted yet. */
  dispatchFor(by: Caller, references: string): Dispatch | null {
    const started = this.#startedBy.get(by) ?? [];
    return started.findLast((dispatch) => dispatch.references === references && !dispatch.submitted) ?? null;
  }

  version(key: VersionKey): Version | null {
    let version = this.versions.get(key);
    if (version !== undefined) return version;
    const content = this.#rules.contentOf(key);
    if (content === undefined) return null;
    version = newVersion(key, content);
    this.versions.set(key, version);
    return version;
  }

  #report(flaw: string | null): void {
    if (flaw !== null) this.#rules.fail(flaw);
  }

  #submission(event: string, row: SubmissionRow, by: Caller): void {
    const known = this.submissions.get(row.id);
    if (event === "delete") {
      if (known === undefined || !this.#transaction.isRetention) return this.#rules.fail("a submission was deleted");
      known.deleted = true;
      return this.#report(this.#retention.submissionFlaw(known));
    }
    this.#report(activityFlaw(row, known?.row, this.#rules.now()));
    if (known === undefined) {
      this.#report(idFlaw(row.id, [...this.submissions.keys()].at(-1) ?? "", this.#rules.now()));
      const submission = newSubmission(row, by, this.#rules.now());
      this.submissions.set(row.id, submission);
      return void this.#transaction.submissions.add(submission);
    }
    this.#report(submissionFlaw(known, row, this.#rules.now(), this.#rules.clockSetSince(known.heldBy.startedAt)));
    this.#report(this.deletions.takeOverFlaw(known, row));
    this.#report(cancellationFlaw(known, row, this.retries.of(row.id).length > 0));
    Object.assign(known, holderOf(known, row, by, this.#rules.now()));
    known.row = row;
    this.#transaction.submissions.add(known);
  }

  #retry(event: Change[1], change: Change): void {
    this.#report(this.retries.take(event, change, this));
    const submission = this.submissions.get(String(change[2]));
    if (submission !== undefined) this.#transaction.submissions.add(submission);
  }

  #document(event: Change[1], change: Change): void {
    const key = versionKey(String(change[4]), String(change[2]));
    const version = this.version(key);
    const submission = this.submissions.get(String(change[4]));
    if (version === null || submission === undefined) return this.#rules.fail(`a document that nobody pushed: ${key}`);
    this.#transaction.versions.add(version);
    this.#transaction.submissions.add(submission);
    if (event === "update") return this.#rules.fail(`the input of ${key} changed: inputs are immutable`);
    this.#report(this.deletions.documentFlaw(event, key, submission, this.#transaction));
    if (event === "delete") {
      if (this.#transaction.isRetention) this.#report(this.#retention.versionFlaw(version));
      this.#retention.removeTexts(version);
      version.deleted = true;
      submission.forgotten += 1;
      if (version.outcome === null && !this.#transaction.endedBefore.has(key)) submission.canceled += 1;
      return;
    }
    if (version.recorded)
      this.#rules.fail(`${key} was recorded again${version.deleted ? " after it was deleted" : ""}`);
    recordVersion(version, change);
    this.#retention.addTexts(version);
    submission.recorded += 1;
  }

  #outcome(event: string, row: OutcomeRow): void {
    const key = versionKey(row.submission_id, row.document_id);
    const version = this.version(key);
    const submission = this.submissions.get(row.submission_id);
    if (version === null || submission === undefined)
      return this.#rules.fail(`an outcome of a document that nobody pushed: ${key}`);
    this.#transaction.versions.add(version);
    this.#transaction.submissions.add(submission);
    if (event === "update") return this.#rules.fail(`the outcome of ${key} changed: outcomes are immutable`);
    if (event === "insert") {
      const job = row.job_id === null ? null : (this.jobs.get(row.job_id) ?? null);
      this.#report(outcomeFlaw(row, version, submission, job));
      version.outcome = row;
      if (job !== null) version.endedAt.push(this.#rules.now());
      submission[row.status] += 1;
      return;
    }
    if (this.#transaction.deleted.has(key)) {
      this.#transaction.endedBefore.add(key);
      const failures = this.#transaction.isRetention ? version.forgottenFailures : version.deletedFailures;
      if (row.status === "failed") failures.push(row.code ?? "");
    } else if (row.status === "failed") {
      if (submission.row.cancel_requested_at !== null)
        this.#rules.fail(`${key} is retried, but its submission is canceled`);
      this.#report(this.retries.queueFlaw(version));
      submission.failed -= 1;
      startOver(version);
      this.#transaction.retried.add(key);
    } else {
      this.#rules.fail(`the outcome of ${key} was deleted, but it ${row.status}`);
    }
    version.outcome = null;
  }

  #job(event: string, row: JobRow, by: Caller, newJobs: Job[]): void {
    let job = this.jobs.get(row.id);
    if (event === "delete") {
      if (job === undefined || !this.#transaction.isRetention) return this.#rules.fail("a job was deleted");
      job.deleted = true;
      return this.#report(this.#retention.jobFlaw(job));
    }
    if (job === undefined) {
      job = newJob(row);
      this.jobs.set(row.id, job);
      newJobs.push(job);
      this.#report(holdFlaw(null, row, job.list, { now: this.#rules.now(), submissions: this.submissions }));
    } else {
      const list = job.row.members === row.members ? job.list : listOf(row.members);
      const before = job.row;
      if (row.dispatch_number > before.dispatch_number) this.#startDispatch(job, row, list, by);
      if (before.status === "dispatched" && row.status === "pending") countSilence(job, this.versions);
      if (wasRefused(before, row)) countRefused(job, this.versions);
      if (row.unconfirmed_dispatches > before.unconfirmed_dispatches) countUnconfirmed(job, this.submissions);
      const now = this.#rules.now();
      const dispatch = job.dispatches.get(row.dispatch_number);
      const world = { ...this.#rules, now, worker: by.worker, submissions: this.submissions, jobs: this.jobs };
      this.#report(jobFlaw(job, row, list, world));
      if (before.finalized_sequence === null && row.finalized_sequence !== null)
        this.#transaction.sequences.push(row.finalized_sequence);
      this.#report(holdFlaw(before, row, list, world));
      if (row.status === "dispatched" && dispatch !== undefined) dispatch.isConfirmed = true;
      if (row.due_at !== before.due_at) this.#report(pollFlaw(row, now, this.#rules.clockSetSince(by.startedAt)));
      this.#report(countUsage({ before, row, list, dispatch }, this.versions, this.submissions));
      if (isOpen(before.status)) for (const key of job.list) this.version(key)?.openJobs.delete(row.id);
      for (const key of job.list) this.#touch(key);
      job.row = row;
      job.list = list;
    }
    this.#transaction.jobs.add(job);
    this.#report(laneFlaw(job, (key) => this.version(key)?.content.lane));
    if (row.dispatch_number === 0) job.largest = Math.max(job.largest, job.list.length);
    for (const key of job.list) {
      if (isOpen(row.status)) this.version(key)?.openJobs.add(row.id);
      this.#touch(key);
    }
  }

  #part(event: Change[1], change: Change): void {
    const isForgotten = event === "delete" && this.#transaction.isRetention;
    this.#report(isForgotten ? this.#retention.partFlaw(change) : this.deletions.takePart(event, change, this));
  }

  #startDispatch(job: Job, row: JobRow, list: readonly VersionKey[], by: Caller): void {
    this.#report(startTimeFlaw(row, by, this.#rules.now(), this.#rules.clockSetSince(by.startedAt)));
    const dispatch = dispatchIn(row, list, by, (key) => this.version(key)?.content.index);
    job.dispatches.set(row.dispatch_number, dispatch);
    const start = { at: dispatch.startedAt, workerStartedAt: by.startedAt };
    if (list.length > 0) this.#report(this.#rate.flawAt(start, this.#rules.clockSetSince));
    this.#startedBy.set(by, [...(this.#startedBy.get(by) ?? []), dispatch]);
    for (const key of list) this.version(key)?.dispatches.add(dispatch);
  }

  #touch(key: VersionKey): void {
    const version = this.versions.get(key);
    if (version !== undefined) this.#transaction.versions.add(version);
  }
}
