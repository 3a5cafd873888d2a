import { expect, test } from "vitest";
import { pushed } from "./client.ts";

test("wait reads less and less often until the submission ends", async () => {
  const { api, client, waits, id } = await pushed(3);
  api.looks = 8;
  const seen: string[] = [];
  const submission = await client.wait(id, { onProgress: ({ status }) => seen.push(status) });
  expect(submission).toMatchObject({ status: "completed", counts: { succeeded: 3 } });
  expect(seen).toEqual([...Array.from({ length: 8 }, () => "queued"), "completed"]);
  expect(waits).toEqual([500, 750, 1_125, 1_687.5, 2_531.25, 3_796.875, 5_000, 5_000]);
});

test("wait ends at its timeout", async () => {
  const { api, client, waits, id } = await pushed(3);
  api.looks = Infinity;
  await expect(client.wait(id, { timeout: 2_000 })).rejects.toMatchObject({
    code: "timeout",
    detail: `After 2 s ${id} is queued: 3 of 3 documents have not ended.`,
  });
  expect(waits).toEqual([500, 750, 750]);
});

test("wait obeys the caller's condition and interval", async () => {
  const { api, client, waits, id } = await pushed(3);
  api.looks = 8;
  let reads = 0;
  const submission = await client.wait(id, { interval: 200, until: () => (reads += 1) === 3 });
  expect(submission.status).toBe("queued");
  expect(waits).toEqual([200, 200]);
  expect(await client.wait(id, { interval: 600, until: () => false })).toMatchObject({ status: "completed" });
  expect(waits.slice(2)).toEqual([500, 600, 600, 600, 600]);
});

test("wait ends when aborted", async () => {
  const { api, client, id } = await pushed(3);
  api.looks = Infinity;
  const stop = new AbortController();
  const reason = new Error("stopped by hand");
  await expect(client.wait(id, { signal: stop.signal, onProgress: () => stop.abort(reason) })).rejects.toBe(reason);
});
