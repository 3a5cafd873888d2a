import { describe, expect, it } from "vitest";
import { pushJson, testApi } from "./api.ts";
import { FRANCE, type Accepted, lines, sendLines, queuesUntil, problem } from "./keyed-push.ts";

describe("a Queue that pushes back", () => {
  it("is waited for, longer each time, and the push succeeds", async () => {
    let refusals = 3;
    const api = await testApi();
    const queue = {
      sendBatch: async () => {
        refusals -= 1;
        if (refusals >= 0) throw new Error("Queue is overloaded. Please back off.");
      },
    };
    const patient = await testApi({ queues: { interactive: queue, bulk: queue } });
    expect((await pushJson(patient, FRANCE)).status).toBe(202);
    expect(patient.slept).toHaveLength(3);
    expect(patient.slept.toSorted((a, b) => a - b)).toEqual(patient.slept);
    expect(api.slept).toEqual([]);
  });

  it.each(["Queue is overloaded. Please back off.", "Queue sendBatch failed: Too Many Requests"])(
    "for longer than half a minute (%s) ends the push with 503, and the same key resumes it",
    async (message) => {
      const { queues } = queuesUntil(1, message);
      const api = await testApi({ queues });
      const response = await sendLines(api, "k", lines(20));
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "10"]);
      expect(api.slept.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(20_000);
      expect(api.slept.reduce((sum, wait) => sum + wait, 0)).toBeLessThan(35_000);
      const answer = (await (await sendLines(await testApi(), "k", lines(20))).json()) as Accepted;
      expect(answer.submission.id).toBe((await problem(response)).submission);
    },
  );

  it("is not waited for after another error", async () => {
    const { queues } = queuesUntil(0);
    const api = await testApi({ queues });
    expect((await pushJson(api, FRANCE)).status).toBe(503);
    expect(api.slept).toEqual([]);
  });
});
