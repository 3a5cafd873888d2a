import type { DatabaseLevel } from "@sluice/core";
import { databaseBytes } from "@sluice/db";
import { withDatabaseClock } from "../platform/database-clock.ts";
import { isAtLeast, levelAfter } from "../platform/database-level.ts";
import {
  recordDatabaseSize,
  SIZE_INTERVAL_MS,
  type DatabaseSize,
  type MeasuredSize,
} from "../platform/sql/database-size.ts";
import type { PollerContext } from "./poller-context.ts";
import type { RunBudget } from "./run-budget.ts";

/** Statements of a run to record sizes and to read the clock for retention. */
export const ROOM_STATEMENTS = 5;

/**
 * Records the size of the database during a run of the poller, and lets retention make room: first in a run if the
 * database is under pressure, otherwise last. A size comes with every answer of D1, so measuring it costs no call.
 */
export class RoomKeeper {
  readonly #context: PollerContext;
  readonly #budget: RunBudget;
  /** As recorded. */
  #level: DatabaseLevel = "normal";
  #hasRetained = false;

  constructor(context: PollerContext, budget: RunBudget) {
    this.#context = context;
    this.#budget = budget;
  }

  /** The size that D1 reported to this isolate since the last run, to be recorded with the start of this one. */
  get lastMeasured(): MeasuredSize | null {
    return this.#measured(this.#context.runInterval + SIZE_INTERVAL_MS / 2);
  }

  /** Follows the first call of a run, which recorded the size that was measured last, and returned the level before it. */
  async begin(recorded: DatabaseSize | null, levelBefore: DatabaseLevel): Promise<void> {
    this.#level = levelBefore;
    if (recorded !== null && recorded.level !== levelBefore) this.#reach(recorded.level, recorded);
    const { maxDatabaseBytes: limit } = this.#context;
    // A fresh isolate has recorded nothing with that call. Below `high` nobody needs a fresh size.
    const isOld = recorded !== null && this.#level !== "normal" && recorded.age >= SIZE_INTERVAL_MS;
    await this.#record(isOld || (recorded !== null && recorded.limit !== limit));
    if (isAtLeast(this.#level, "pressure")) await this.#retain(this.#level);
  }

  /** D1 refused a write because the database is full. Deleting still works, and needs no write before it. */
  async makeRoom(): Promise<void> {
    this.#context.log({ event: "database_full", level: "error" });
    if (!this.#hasRetained) await this.#retain("full");
  }

  /** Follows everything else in a run. `isSweep`: things may have become old enough since the last sweep. */
  async end(isSweep: boolean): Promise<void> {
    if (isSweep && !this.#hasRetained) await this.#retain(this.#level);
    await this.#record(false);
  }

  async #retain(level: DatabaseLevel): Promise<void> {
    this.#hasRetained = true;
    const { retain } = this.#context;
    if (retain !== null) await retain(await withDatabaseClock(this.#context), level, this.#budget);
  }

  /** Records the newest size if its level differs from the recorded one, or in any case. */
  async #record(always: boolean): Promise<void> {
    const measured = this.#measured(SIZE_INTERVAL_MS);
    if (measured === null) return;
    const level = levelAfter(measured.bytes, measured.limit, this.#level);
    if (level === this.#level && !always) return;
    await recordDatabaseSize(this.#context.db, measured, this.#context.databaseTime());
    if (level !== this.#level) this.#reach(level, measured);
  }

  #reach(level: DatabaseLevel, { bytes, limit }: MeasuredSize): void {
    this.#context.log({ event: "database_level", from: this.#level, to: level, bytes, limit });
    this.#level = level;
  }

  #measured(maxAgeMs: number): MeasuredSize | null {
    const bytes = databaseBytes(this.#context.db, maxAgeMs);
    return bytes === null ? null : { bytes, limit: this.#context.maxDatabaseBytes };
  }
}
