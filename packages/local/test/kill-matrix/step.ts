/** The Workers that are killed: the three that are deployed. */
export type KilledWorker = "producer" | "consumer" | "poller";

/** The binding that a Worker calls; `run` is an invocation of the Worker itself. */
export type Asked = "DB" | "INTERACTIVE" | "BULK" | "AI" | "run";

/** A moment in a Worker's work, reported to the director. The Worker continues when the director answers. */
export interface Step {
  readonly worker: KilledWorker;
  /** Identifies one life of the Worker: new each time its runtime starts. */
  readonly isolate: string;
  readonly asked: Asked;
  /** SQL, `sendBatch`, `submit`, `poll`; for an invocation its request, queue or `scheduled`. */
  readonly what: string;
  readonly moment: "before" | "after";
  /** The size of the database, if D1 reported it with the answer of this step. */
  readonly databaseBytes: number | null;
}

/** The director's answer: continue. */
export interface GoOn {
  /** Milliseconds by which the Workers' clocks are ahead of the machine's. */
  readonly ahead: number;
}
