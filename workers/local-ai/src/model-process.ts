import { z } from "zod";

/** The state of a batch in the model process. */
const progressSchema = z.discriminatedUnion("state", [
  z.object({ state: z.literal("running") }),
  z.object({ state: z.literal("failed") }),
  z.object({ state: z.literal("done"), scores: z.array(z.array(z.number())) }),
]);
export type Progress = z.infer<typeof progressSchema> | { readonly state: "unknown" };

const scoresSchema = z.object({ scores: z.array(z.array(z.number())) });

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** The process with the real model, over HTTP. Every method throws on an unexpected answer. */
export class ModelProcess {
  readonly #url: string;
  readonly #fetch: Fetch;

  constructor(url: string, fetcher: Fetch) {
    this.#url = url;
    this.#fetch = fetcher;
  }

  async #call(path: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#fetch(`${this.#url}${path}`, init);
    } catch {
      throw new Error(`no model process answers at MODEL_URL ${JSON.stringify(this.#url)}`);
    }
  }

  /** Starts scoring a batch. Idempotent. */
  async begin(requestId: string, payload: string): Promise<void> {
    const response = await this.#call(`/batches/${requestId}`, { method: "POST", body: payload });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the model process refused a batch with status ${response.status}`);
  }

  async progress(requestId: string): Promise<Progress> {
    const response = await this.#call(`/batches/${requestId}`, {});
    if (response.status === 404) {
      await response.body?.cancel();
      return { state: "unknown" };
    }
    return progressSchema.parse(await response.json());
  }

  /** Scores at once, and waits for the result. */
  async score(payload: string): Promise<readonly (readonly number[])[]> {
    const response = await this.#call("/score", { method: "POST", body: payload });
    return scoresSchema.parse(await response.json()).scores;
  }
}
