export type WorkerName = "producer" | "consumer" | "poller";

/** The maximum usage of any invocation of a Worker, and the payload held by its isolate. */
export interface WorkerUse {
  readonly invocations: number;
  /** D1 statements of one invocation; each statement of a batch counts. */
  readonly maxStatements: number;
  /** Texts of documents that all running invocations hold at once, in bytes. Copies count once. */
  readonly maxHeldBytes: number;
}

/** Concurrent calls to Workers AI in one invocation: Workers' limit on connections. */
const MAX_OPEN_CALLS = 6;

/** Counts the usage of one Worker's invocations. All of them run in one isolate. */
export class VirtualIsolate {
  #invocations = 0;
  #maxStatements = 0;
  #heldBytes = 0;
  #maxHeldBytes = 0;

  get use(): WorkerUse {
    return { invocations: this.#invocations, maxStatements: this.#maxStatements, maxHeldBytes: this.#maxHeldBytes };
  }

  start(): VirtualInvocation {
    this.#invocations += 1;
    return new VirtualInvocation({
      statements: (count) => {
        this.#maxStatements = Math.max(this.#maxStatements, count);
      },
      held: (change) => {
        this.#heldBytes += change;
        this.#maxHeldBytes = Math.max(this.#maxHeldBytes, this.#heldBytes);
      },
    });
  }
}

/** One invocation: its statements, its texts in memory, and its open calls to Workers AI. */
export class VirtualInvocation {
  readonly #uses: { readonly statements: (count: number) => void; readonly held: (change: number) => void };
  #statements = 0;
  #heldBytes = 0;
  #openCalls = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(uses: { readonly statements: (count: number) => void; readonly held: (change: number) => void }) {
    this.#uses = uses;
  }

  countStatements(count: number): void {
    this.#statements += count;
    this.#uses.statements(this.#statements);
  }

  hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#uses.held(bytes);
  }

  /** Releases at most what is held. */
  release(bytes: number): void {
    const released = Math.min(bytes, this.#heldBytes);
    this.#heldBytes -= released;
    this.#uses.held(-released);
  }

  /** Releases everything at the end of the invocation. */
  end(): void {
    this.release(this.#heldBytes);
  }

  /** Calls Workers AI once fewer than six calls are open. */
  async call<T>(run: () => Promise<T>): Promise<T> {
    while (this.#openCalls >= MAX_OPEN_CALLS) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#openCalls += 1;
    try {
      return await run();
    } finally {
      this.#openCalls -= 1;
      this.#waiting.shift()?.();
    }
  }
}
