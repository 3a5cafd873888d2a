/** What a baseline's Workers are bound to. */
export interface BaselineEnv {
  readonly DB: D1Database;
  readonly QUEUE: { sendBatch(messages: MessageSendRequest<string>[]): Promise<unknown> };
  readonly AI: { run(model: string, inputs: object, options?: { queueRequest: true }): Promise<unknown> };
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly uuid: () => string;
  /** A line in the Worker's log. */
  readonly log: (line: string) => void;
}

export interface BaselineMessage {
  readonly body: string;
  ack(): void;
  retry(): void;
}

/** What a reader of a design is shown for a document. */
export type Shown =
  | { readonly state: "succeeded"; readonly scores: readonly (readonly [index: number, score: unknown])[] }
  | { readonly state: "failed" | "pending" | "nothing" };

/** A design that Sluice is compared with: the handlers of its Workers, its tables, and its one question to them. */
export interface Baseline {
  readonly tables: readonly string[];
  /** `POST`: takes documents in; done when the Queue has them all. Gives the name that those without an id go by. */
  push(env: BaselineEnv, collection: string, type: string, body: ReadableStream<Uint8Array>): Promise<string>;
  /** `queue()`: a delivery. What was neither acknowledged nor to be tried again is acknowledged as it returns. */
  deliver(env: BaselineEnv, messages: readonly BaselineMessage[]): Promise<void>;
  /** `scheduled()`, where the design has one. */
  readonly poll: ((env: BaselineEnv) => Promise<void>) | null;
  /** `GET` of a document by its id: what its answer comes from. */
  readonly read: {
    /** With the collection and the id bound. */
    readonly sql: string;
    readonly shown: (row: Record<string, unknown> | undefined) => Shown;
  };
}
