import { isolateSize } from "@sluice/pipeline/platform/context-of.ts";
import type { KnownSize } from "@sluice/db";
import type { Sqlite } from "../d1/sqlite.ts";
import type { Passage } from "./ports.ts";
import type { Surroundings } from "./surroundings.ts";

interface FillableWorld extends Surroundings {
  readonly sqlite: Sqlite;
  /** A separate generator, so that this does not affect the rest of a seed. */
  readonly later: Surroundings["random"];
}

const MINUTE = 60_000;
const PAGE_BYTES = 4_096;
/** More than a seed ever needs. */
const ENOUGH_BYTES = 9_500_000_000;
/** A database is full at this share of its limit, and has room again below the other. */
const FULL_FROM = 0.95;
const EXCEEDED = "D1_ERROR: Exceeded maximum DB size: SQLITE_FULL";
const WRITES = /^\s*(?:INSERT|UPDATE)\b/i;

/**
 * How much room D1 has in a seed. With `database_limit`, Sluice is configured with a small limit for a while. With
 * `d1_full`, D1 itself refuses every write for a while; reads and deletes work.
 */
export class DatabaseRoom {
  /** The size that D1 reported last to the producers' isolate. The other Workers share `isolateSize`. */
  readonly producerSize: KnownSize = { bytes: null, at: 0 };
  readonly #world: FillableWorld;
  readonly #isSmall: boolean;
  #limit = ENOUGH_BYTES;
  #fullUntil = 0;

  constructor(world: FillableWorld) {
    this.#world = world;
    Object.assign(isolateSize, { bytes: null, at: 0 } satisfies KnownSize);
    this.#isSmall = world.faults.strikes("database_limit");
    if (!this.#isSmall) return;
    const { later, sqlite, timeline } = world;
    // Full from the start, or after the first pushes: a seed writes few pages.
    this.#limit = Math.floor((sqlite.bytes() + later.int(0, 4) * PAGE_BYTES) / FULL_FROM);
    timeline.after(later.spread(5 * MINUTE, 180 * MINUTE), () => this.#enlarge());
  }

  /** The poller's `MAX_DATABASE_BYTES`. */
  get limit(): number {
    return this.#limit;
  }

  /** Whether the poller has something to record although no job is due. */
  get isWatched(): boolean {
    if (!this.#isSmall) return false;
    if (this.#limit !== ENOUGH_BYTES) return true;
    const [row] = this.#world.sqlite.rows("SELECT limit_bytes FROM database_size");
    return row !== undefined && row["limit_bytes"] !== ENOUGH_BYTES;
  }

  /** Whether the database is recorded as full. */
  get isRecordedFull(): boolean {
    return this.#isSmall && this.#world.sqlite.rows("SELECT 1 FROM database_size WHERE level = 'full'").length > 0;
  }

  /** The refusal of a call because the database is full, or `null`. */
  refusal(statements: readonly { readonly sql: string }[]): Passage | null {
    const { faults, later, timeline } = this.#world;
    if (!statements.some(({ sql }) => WRITES.test(sql))) return null;
    if (timeline.now >= this.#fullUntil && faults.strikes("d1_full"))
      this.#fullUntil = timeline.now + later.spread(1_000, 45 * MINUTE);
    if (timeline.now >= this.#fullUntil) return null;
    return { fault: "d1_full", lost: true, error: new Error(EXCEEDED) };
  }

  /** Ends both faults. */
  end(): void {
    this.#fullUntil = 0;
    this.#enlarge();
  }

  #enlarge(): void {
    if (this.#limit !== ENOUGH_BYTES && this.isRecordedFull) this.#world.faults.count("database_filled");
    this.#limit = ENOUGH_BYTES;
  }
}
