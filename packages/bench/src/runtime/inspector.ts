interface Received {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly method?: string;
  readonly params?: { readonly url?: string };
}

/** A session with a Worker's inspector: the Chrome DevTools protocol, as far as workerd supports it. */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #scripts: string[] = [];
  #asked = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result, error, method, params } = JSON.parse(String(data)) as Received;
      if (method === "Debugger.scriptParsed" && params?.url !== undefined) this.#scripts.push(params.url);
      if (id === undefined) return;
      this.#waiting.get(id)?.resolve(error === undefined ? result : null);
      this.#waiting.delete(id);
    });
    socket.addEventListener("close", () => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the inspector hung up"));
    });
  }

  static async connect(url: string): Promise<Inspector> {
    // Wrangler refuses connections from other hosts.
    const options = { headers: { origin: "http://localhost" } } as unknown as string[];
    const socket = new WebSocket(url, options);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      for (const end of ["error", "close"] as const) {
        socket.addEventListener(end, () => reject(new Error(`the inspector at ${url} does not answer`)));
      }
    });
    return new Inspector(socket);
  }

  /** `null` if the inspector does not know the method. */
  ask<Result>(method: string, parameters: Record<string, unknown> = {}): Promise<Result | null> {
    this.#asked += 1;
    const id = this.#asked;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params: parameters }));
    return answer.promise as Promise<Result | null>;
  }

  /** The folder of the scripts of its Worker. */
  async scripts(): Promise<readonly string[]> {
    await this.ask("Debugger.enable");
    await this.ask("Debugger.disable");
    return this.#scripts;
  }

  close(): void {
    this.#socket.close();
  }
}
