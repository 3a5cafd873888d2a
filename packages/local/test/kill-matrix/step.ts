/** The Workers that are killed: the three that are deployed. */
export type KilledWorker = "producer" | "consumer" | "poller";

/** What a Worker asks for something: one of its bindings; `run` is an invocation of the Worker itself. */
export type Asked = "DB" | "INTERACTIVE" | "BULK" | "AI" | "run";

/** A moment in a Worker's work, told to the director. It goes on when that answers. */
export interface Step {
  readonly worker: KilledWorker;
  /** Tells one life of the Worker from the next: told anew each time its runtime starts. */
  readonly isolate: string;
  readonly asked: Asked;
  /** SQL, `sendBatch`, `submit`, `poll`; of an invocation its request, queue or `scheduled`. */
  readonly what: string;
  readonly moment: "before" | "after";
}

/** The director's answer: go on. */
export interface GoOn {
  /** Milliseconds that the Workers' clocks are ahead of the machine's. */
  readonly ahead: number;
}
