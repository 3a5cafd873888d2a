import { dotProduct, MAX_TEXTS, type Embed } from "./embedding.ts";

/** One query and its contexts. */
export interface ScoringRequest {
  readonly query: string;
  readonly contexts: readonly { readonly text: string }[];
}

/** The state of a batch. `done` and `total` count distinct texts; `scores` has a list for each request. */
export type Progress =
  | { readonly state: "running"; readonly done: number; readonly total: number }
  | { readonly state: "done"; readonly scores: readonly (readonly number[])[] }
  | { readonly state: "failed" };

interface Work {
  readonly requests: readonly ScoringRequest[];
  /** Every distinct text of the batch, in embedding order. */
  readonly texts: readonly string[];
  readonly vectors: Map<string, Float32Array>;
  readonly finish: (scores: number[][]) => void;
  readonly fail: (reason: unknown) => void;
}

/**
 * Texts embedded for a batch before the next batch gets its turn, so that a small batch does not wait for a large one.
 */
const TURN = Math.min(8, MAX_TEXTS);

/** Scores batches with one model, a few texts of each in turn. Keeps the last `maxFinished` finished batches. */
export class Scorer {
  readonly #embed: Embed;
  readonly #maxFinished: number;
  readonly #batches = new Map<string, () => Progress>();
  readonly #finished: string[] = [];
  readonly #queue: Work[] = [];
  #busy = false;

  constructor(embed: Embed, maxFinished: number) {
    this.#embed = embed;
    this.#maxFinished = maxFinished;
  }

  /** Starts scoring a batch, unless it is already known. */
  begin(id: string, requests: readonly ScoringRequest[]): void {
    if (this.#batches.has(id)) return;
    const { work, scores } = this.#start(requests);
    this.#batches.set(id, () => ({ state: "running", done: work.vectors.size, total: work.texts.length }));
    scores.then(
      (list) => this.#end(id, { state: "done", scores: list }),
      () => this.#end(id, { state: "failed" }),
    );
  }

  /** `null` if the batch is unknown or no longer kept. */
  progress(id: string): Progress | null {
    return this.#batches.get(id)?.() ?? null;
  }

  score(requests: readonly ScoringRequest[]): Promise<number[][]> {
    return this.#start(requests).scores;
  }

  #start(requests: readonly ScoringRequest[]): { work: Work; scores: Promise<number[][]> } {
    const { promise, resolve, reject } = Promise.withResolvers<number[][]>();
    const texts = new Set(requests.flatMap(({ query, contexts }) => [query, ...contexts.map(({ text }) => text)]));
    const work: Work = { requests, texts: [...texts], vectors: new Map(), finish: resolve, fail: reject };
    this.#queue.push(work);
    if (!this.#busy) void this.#run();
    return { work, scores: promise };
  }

  #end(id: string, progress: Progress): void {
    this.#batches.set(id, () => progress);
    this.#finished.push(id);
    for (const old of this.#finished.splice(0, Math.max(0, this.#finished.length - this.#maxFinished))) {
      this.#batches.delete(old);
    }
  }

  async #run(): Promise<void> {
    this.#busy = true;
    for (let work = this.#queue.shift(); work !== undefined; work = this.#queue.shift()) {
      try {
        const texts = work.texts.slice(work.vectors.size, work.vectors.size + TURN);
        const vectors = await this.#embed(texts);
        for (const [index, text] of texts.entries()) work.vectors.set(text, vectors[index] ?? new Float32Array());
        if (work.vectors.size < work.texts.length) this.#queue.push(work);
        else work.finish(scoreAll(work));
      } catch (reason) {
        work.fail(reason);
      }
    }
    this.#busy = false;
  }
}

function scoreAll({ requests, vectors }: Work): number[][] {
  const vectorOf = (text: string) => vectors.get(text) ?? new Float32Array();
  return requests.map(({ query, contexts }) => {
    const vector = vectorOf(query);
    return contexts.map(({ text }) => dotProduct(vector, vectorOf(text)));
  });
}
