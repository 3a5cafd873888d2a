/** The bindings that wrangler.jsonc names. */
export interface ConsumerEnv {
  readonly DB: D1Database;
  /** Workers AI; locally the stand-in. */
  readonly AI: unknown;
  /** Seconds between two runs of the poller. */
  readonly RUN_INTERVAL_SECONDS: string;
}
