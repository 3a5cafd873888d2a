import { afterEach, beforeEach, expect } from "vitest";
import { pushJson, storedRows, testApi, type ProblemBody, type TestApi } from "./api.ts";

export const VALID = { query: "q", contexts: ["c"] };

export interface Refused {
  readonly response: Response;
  readonly status: number;
  readonly problem: ProblemBody;
}

/** Sends a push that must be refused. After each test of a file that calls this, no row is stored and nothing was sent. */
export function refusedPushes() {
  let api: TestApi;
  beforeEach(async () => {
    api = await testApi();
  });
  afterEach(async () => {
    expect(await storedRows()).toBe(0);
    expect(api.calls).toEqual([]);
  });
  const refusal = async (response: Response): Promise<Refused> => {
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const problem = (await response.json()) as ProblemBody;
    expect(problem.status).toBe(response.status);
    return { response, status: response.status, problem };
  };
  return {
    /** A JSON value, or JSON text. */
    json: async (body: unknown, query = "") => refusal(await pushJson(api, body, query)),
    /** A body with headers. */
    body: async (
      body: BodyInit | ReadableStream<Uint8Array> | null,
      headers: Readonly<Record<string, string>>,
      query = "",
    ) => refusal(await api.fetch(`/v1/documents${query}`, { method: "POST", body, headers })),
  };
}
