import type { RetentionSettings } from "@sluice/pipeline/submission/retention-rules.ts";
import { MESSAGE_LIFE_MS } from "@sluice/pipeline/submission/lifetimes.ts";
import { MAX_CLOCK_SKEW } from "../world/caller.ts";
import type { Change } from "./changes.ts";
import type { Retries } from "./retries.ts";
import { isOpen, type Job, type Submission, type Version, type VersionKey } from "./state.ts";

/** What retention may delete in a seed. */
export interface RetentionRules {
  readonly settings: RetentionSettings;
  /** Whether the database may be under pressure, so that age does not matter. */
  readonly mayBePressed: boolean;
}

interface Known {
  readonly versions: ReadonlyMap<VersionKey, Version>;
  readonly submissions: ReadonlyMap<string, Submission>;
  readonly jobs: ReadonlyMap<string, Job>;
  readonly retries: Retries;
}

/** Checks what retention deletes: nothing in progress, nothing that is too young, and nothing that a retry needs. */
export class Retention {
  readonly #rules: RetentionRules;
  readonly #known: Known;
  /** The remaining versions of documents with texts in each row. */
  readonly #texts = new Map<number, Set<Version>>();
  /** By D1's clock, as early as the step may have read it. */
  #now = 0;

  constructor(rules: RetentionRules, known: Known) {
    this.#rules = rules;
    this.#known = known;
  }

  /** Begins a transaction. `clockSet`: how far D1's clock was set since its Worker started. */
  begin(now: number, clockSet: number): void {
    this.#now = now + MAX_CLOCK_SKEW + clockSet;
  }

  addTexts(version: Version): void {
    const row = this.#texts.get(version.contextsId) ?? new Set();
    this.#texts.set(version.contextsId, row.add(version));
  }

  removeTexts(version: Version): void {
    this.#texts.get(version.contextsId)?.delete(version);
  }

  /**
   * A row of texts is deleted, or rewritten: to the texts of failed documents, or without those of the versions that this
   * transaction deletes.
   */
  textsFlaw(event: Change[1], id: number, deleted: ReadonlySet<VersionKey>): string | null {
    const dropped = [...(this.#texts.get(id) ?? [])].filter((version) => {
      if (event === "delete") return !deleted.has(version.key);
      return deleted.size === 0 && version.outcome?.status !== "failed";
    });
    for (const version of dropped) {
      const { key, outcome, submission } = version;
      if (outcome === null) return `retention dropped the texts of ${key}, which has not ended`;
      if (outcome.status === "failed" && !this.#rules.mayBePressed)
        return `retention dropped the texts of ${key}, which failed and may be retried`;
      if (outcome.status === "failed" && this.#known.retries.of(submission).length > 0)
        return `retention dropped the texts of ${key}, which is being retried`;
      if (this.#isYoung(outcome.finalized_at, this.#rules.settings.texts))
        return `retention dropped the texts of ${key} too early`;
      version.hasTexts = false;
    }
    return null;
  }

  /** A version of a document is deleted. */
  versionFlaw(version: Version): string | null {
    const { key, outcome, submission } = version;
    const { history, scores } = this.#rules.settings;
    if (outcome === null) return `retention deleted ${key}, which has not ended`;
    const newer = [...this.#known.versions.values()].filter(
      (other) =>
        other.document === version.document &&
        other.collection === version.collection &&
        other.submission > submission &&
        !other.deleted &&
        other.outcome !== null,
    );
    if (outcome.status === "succeeded") {
      const isHidden = newer.some((other) => other.outcome?.status === "succeeded");
      const isExpired = scores !== null && !this.#isTooYoung(outcome.finalized_at, scores);
      if (!isHidden && !isExpired) return `retention deleted ${key}, the newest version that succeeded`;
      return isExpired || !this.#isYoung(outcome.finalized_at, history) ? null : `retention deleted ${key} too early`;
    }
    if (this.#known.retries.of(submission).length > 0) return `retention deleted ${key}, which is being retried`;
    const isHidden = newer.some((other) => other.outcome?.status !== "canceled");
    return this.#isTooYoung(outcome.finalized_at, history) && !(this.#rules.mayBePressed && isHidden)
      ? `retention deleted ${key} too early`
      : null;
  }

  /** A part is deleted. */
  partFlaw(change: Change): string | null {
    const [, , submission, part, , , recordedAt] = change;
    const name = `part ${part} of ${submission}`;
    if (this.#isTooYoung(Number(recordedAt), MESSAGE_LIFE_MS))
      return `${name} was deleted while a message may repeat it`;
    for (const version of this.#known.versions.values()) {
      if (version.submission !== submission || version.part !== part || !version.recorded || version.deleted) continue;
      if (version.outcome === null) return `${name} was deleted, but ${version.key} has not ended`;
      if (version.outcome.status === "failed") return `${name} was deleted, but ${version.key} may be retried`;
      version.isListed = false;
    }
    return null;
  }

  /** A job is deleted. */
  jobFlaw({ row }: Job): string | null {
    const { jobs } = this.#known;
    if (isOpen(row.status)) return `${row.id} was deleted, but it is ${row.status}`;
    for (const open of jobs.values()) {
      if (isOpen(open.row.status) && this.#precedes(row.id, open, new Set()))
        return `${row.id} was deleted, but ${open.row.id} is found through it`;
    }
    return null;
  }

  #precedes(id: string, job: Job, seen: Set<Job>): boolean {
    if (seen.has(job)) return false;
    seen.add(job);
    const { jobs } = this.#known;
    const before = [...jobs.values()].filter(
      ({ row }) => row.id === job.row.parent_id || row.merged_into === job.row.id,
    );
    return before.some((one) => one.row.id === id || this.#precedes(id, one, seen));
  }

  /** A submission is deleted. */
  submissionFlaw({ row, recorded, forgotten }: Submission): string | null {
    if (row.completed_at === null) return `${row.id} was deleted, but it is not completed`;
    if (this.#known.retries.of(row.id).length > 0) return `${row.id} was deleted, but it is being retried`;
    if (forgotten < recorded || row.lost > 0) return `${row.id} was deleted, but it has documents`;
    return this.#isTooYoung(row.created_at, MESSAGE_LIFE_MS)
      ? `${row.id} was deleted while a message of it may arrive`
      : null;
  }

  #isYoung(time: number, life: number): boolean {
    return !this.#rules.mayBePressed && this.#isTooYoung(time, life);
  }

  #isTooYoung(time: number, life: number): boolean {
    return time + life > this.#now;
  }
}
