/** The bindings that wrangler.jsonc names. */
export interface PollerEnv {
  readonly DB: D1Database;
  /** Workers AI; locally the stand-in. */
  readonly AI: unknown;
  /** Seconds between two runs: the cron's interval. */
  readonly RUN_INTERVAL_SECONDS: string;
  /** A batch without an answer for this long is dispatched again. */
  readonly STUCK_AFTER_MINUTES: string;
}
