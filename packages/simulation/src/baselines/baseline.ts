/** The bindings of a baseline's Workers. */
export interface BaselineEnv {
  readonly DB: D1Database;
  readonly QUEUE: { sendBatch(messages: MessageSendRequest<string>[]): Promise<unknown> };
  readonly AI: { run(model: string, inputs: object, options?: { queueRequest: true }): Promise<unknown> };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly uuid: () => string;
  /** Writes a line to the Worker's log. */
  readonly log: (line: string) => void;
}

export interface BaselineMessage {
  readonly body: string;
  ack(): void;
  retry(): void;
}

/** What a design reports for a document. */
export type Shown =
  | { readonly state: "succeeded"; readonly scores: readonly (readonly [index: number, score: unknown])[] }
  | { readonly state: "failed" | "pending" | "nothing" };

/** A design to compare with Sluice: its Workers' handlers, its tables, and the query that reads them. */
export interface Baseline {
  readonly tables: readonly string[];
  /**
   * `POST`: accepts documents, and resolves when the Queue has them all. Returns the id prefix of documents without an
   * id.
   */
  push(env: BaselineEnv, collection: string, type: string, body: ReadableStream<Uint8Array>): Promise<string>;
  /**
   * `queue()`: handles a delivery. Messages that were neither acknowledged nor retried are acknowledged when it
   * returns.
   */
  deliver(env: BaselineEnv, messages: readonly BaselineMessage[]): Promise<void>;
  /** `scheduled()`, if the design has one. */
  readonly poll: ((env: BaselineEnv) => Promise<void>) | null;
  /** `GET` of a document by its id: the query and its interpretation. */
  readonly read: {
    /** Takes the collection and the id. */
    readonly sql: string;
    readonly shown: (row: Record<string, unknown> | undefined) => Shown;
  };
}
