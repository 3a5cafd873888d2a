import type { DispatchedJob } from "./sql/claim-due-jobs.ts";

/** Consecutive polls that find their batch in progress before younger batches are probed and then left. */
const WAVE = 6;

/**
 * By model and lane: the age in milliseconds below which batches were found in progress during this run. Later claims
 * leave younger batches to their next poll without a call.
 */
export type PendingAges = Map<string, number>;

/**
 * Orders the polls of claimed jobs, interactive ones first, and decides which jobs to leave to the next poll, which the
 * claim has set. Within a model and lane, the oldest come first. If a wave of consecutive polls finds all batches in
 * progress, a second wave is spread over the younger ones. If those are all in progress too, the rest is left.
 * Otherwise polling continues, so that old stuck batches do not block others.
 */
export class PollOrder {
  readonly #groups: ProbedGroup[];

  /** If `ages` is `null`, every job is polled. */
  constructor(jobs: readonly DispatchedJob[], now: number, ages: PendingAges | null) {
    const groups = [...Map.groupBy(jobs, ({ lane, model }) => `${lane} ${model}`)];
    this.#groups = groups
      .toSorted(([a], [b]) => Number(a.startsWith("bulk ")) - Number(b.startsWith("bulk ")))
      .map(([key, group]) => new ProbedGroup(key, group, now, ages));
  }

  /** The next job to poll; `null` if there is none, unless the result of a poll in progress changes that. */
  next(): DispatchedJob | null {
    for (const group of this.#groups) {
      const job = group.next();
      if (job !== null) return job;
    }
    return null;
  }

  /** Puts back a job that was not polled. */
  putBack(job: DispatchedJob): void {
    this.#groups.find((group) => group.has(job))?.putBack(job);
  }

  /** Jobs that were not polled, without those left to their next poll. */
  get remaining(): DispatchedJob[] {
    return this.#groups.flatMap((group) => group.remaining);
  }

  report(job: DispatchedJob, isPending: boolean): void {
    this.#groups.find((group) => group.has(job))?.report(job, isPending);
  }
}

class ProbedGroup {
  readonly #key: string;
  readonly #members: ReadonlySet<DispatchedJob>;
  readonly #ages: PendingAges | null;
  readonly #now: number;
  #left: DispatchedJob[];
  #pendingInARow = 0;
  /** Jobs of the second wave without a result yet; `null` if there is no such wave. */
  #probed: Set<DispatchedJob> | null = null;
  #toProbe: DispatchedJob[] = [];

  constructor(key: string, jobs: readonly DispatchedJob[], now: number, ages: PendingAges | null) {
    const known = ages?.get(key) ?? 0;
    this.#key = key;
    this.#members = new Set(jobs);
    this.#ages = ages;
    this.#now = now;
    this.#left = jobs
      .filter((job) => ages === null || now - job.dispatchedAt >= known)
      .toSorted((a, b) => a.dispatchedAt - b.dispatchedAt);
  }

  has(job: DispatchedJob): boolean {
    return this.#members.has(job);
  }

  next(): DispatchedJob | null {
    if (this.#probed !== null) return this.#toProbe.shift() ?? null;
    return this.#left.shift() ?? null;
  }

  get remaining(): DispatchedJob[] {
    return [...this.#toProbe, ...this.#left];
  }

  putBack(job: DispatchedJob): void {
    if (this.#probed?.has(job) === true) this.#toProbe.unshift(job);
    else this.#left.unshift(job);
  }

  report(job: DispatchedJob, isPending: boolean): void {
    if (this.#ages === null) return;
    this.#pendingInARow = isPending ? this.#pendingInARow + 1 : 0;
    if (this.#probed === null) {
      if (this.#pendingInARow >= WAVE && this.#left.length > 0) this.#probeYounger();
      return;
    }
    this.#probed.delete(job);
    if (!isPending) this.#goOn();
    else if (this.#probed.size === 0) this.#leaveYounger();
  }

  #probeYounger(): void {
    const step = Math.max(1, this.#left.length / WAVE);
    const indexes = new Set(Array.from({ length: WAVE }, (_, probe) => Math.floor((probe + 1) * step) - 1));
    this.#toProbe = this.#left.filter((_, index) => indexes.has(index));
    this.#probed = new Set(this.#toProbe);
    this.#left = this.#left.filter((_, index) => !indexes.has(index));
  }

  #goOn(): void {
    this.#left = [...this.#toProbe, ...this.#left].toSorted((a, b) => a.dispatchedAt - b.dispatchedAt);
    this.#toProbe = [];
    this.#probed = null;
  }

  #leaveYounger(): void {
    const [oldest] = this.#left;
    if (oldest !== undefined) this.#ages?.set(this.#key, this.#now - oldest.dispatchedAt);
    this.#left = [];
    this.#probed = null;
  }
}
