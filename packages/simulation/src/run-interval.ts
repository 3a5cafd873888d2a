/** Milliseconds from one run of the poller to the next, in the simulation as in production. */
export const RUN_INTERVAL_MS = 60_000;
