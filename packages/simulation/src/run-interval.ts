/** The interval between poller runs, in the simulation as in production. */
export const RUN_INTERVAL_MS = 60_000;
