import { expect, it } from "vitest";
import type { BodyPiece } from "../src/http/body.ts";
import { BodiesInWork, expectedBytes } from "../src/push/bodies-in-work.ts";
import { NOW, testApi, type ProblemBody } from "./api.ts";

const MB = 1_000_000;

/** A clock that sleeping advances. `during` is called at each sleep. */
function clock(during: (now: number) => void = () => {}) {
  let now = NOW;
  return {
    now: () => now,
    sleep: async (milliseconds: number) => {
      now += milliseconds;
      during(now);
    },
  };
}

async function* body(bytes: number): AsyncGenerator<BodyPiece> {
  for (let sent = 0; sent < bytes; sent += 50_000) yield new Uint8Array(Math.min(50_000, bytes - sent));
}

/** Reads a guarded body of this many bytes. Gives how many arrived, and `leave`. */
async function read(bodies: BodiesInWork, io: ReturnType<typeof clock>, bytes: number) {
  const guarded = bodies.guard(io, body(bytes), bytes);
  let came = 0;
  for await (const piece of guarded.body) {
    if ("problem" in piece) return { came, leave: guarded.leave, problem: piece.problem };
    came += piece.length;
  }
  return { came, leave: guarded.leave, problem: null };
}

it("admits 15 MB at once, and the next body as soon as there is room", async () => {
  const bodies = new BodiesInWork();
  const first = await read(bodies, clock(), 10 * MB);
  expect(await read(bodies, clock(), 5 * MB)).toMatchObject({ came: 5 * MB, problem: null });
  const waiting = clock((now) => {
    if (now >= NOW + 1_000) first.leave();
  });
  expect(await read(bodies, waiting, 10 * MB)).toMatchObject({ came: 10 * MB, problem: null });
  expect(waiting.now()).toBe(NOW + 1_000);
});

it("does not make small bodies wait, whatever length their sender states", async () => {
  const bodies = new BodiesInWork();
  await read(bodies, clock(), 10 * MB);
  const small = clock();
  const guarded = bodies.guard(small, body(99_000), 10 * MB);
  let came = 0;
  for await (const piece of guarded.body) came += "problem" in piece ? 0 : piece.length;
  expect([came, small.now()]).toEqual([99_000, NOW]);
});

it("reads only the beginning while there is no room, and gives up after 30 s", async () => {
  const bodies = new BodiesInWork();
  await read(bodies, clock(), 10 * MB);
  const io = clock();
  expect(await read(bodies, io, 10 * MB)).toMatchObject({ came: 50_000, problem: { name: "unavailable" } });
  expect(io.now()).toBe(NOW + 30_000);
});

it("frees the room of a disconnected caller after a minute", async () => {
  const bodies = new BodiesInWork();
  await read(bodies, clock(), 10 * MB);
  const later = clock();
  await later.sleep(60_000);
  expect((await read(bodies, later, 10 * MB)).problem).toBeNull();
});

it("counts a body of unknown size as 10 MB", () => {
  expect(expectedBytes(new Headers({ "content-length": "123" }))).toBe(123);
  expect(expectedBytes(new Headers({ "content-length": "123", "content-encoding": "gzip" }))).toBe(10 * MB);
  expect(expectedBytes(new Headers())).toBe(10 * MB);
  expect(expectedBytes(new Headers({ "content-length": "99000000" }))).toBe(10 * MB);
});

it("answers 503 without room, and frees room whether a push is accepted or refused", async () => {
  const api = await testApi({ ...clock() });
  const push = (type: string, text: string) =>
    api.fetch("/v1/documents", { method: "POST", body: text, headers: { "content-type": type } });
  const large = JSON.stringify({ query: "q", contexts: ["c".repeat(150_000)] });
  // Refused pushes leave as accepted ones do.
  for (let n = 0; n < 3; n += 1) expect((await push("application/json", `${large}}`)).status).toBe(400);
  const held = await read(api.context.bodies, clock(), 10 * MB);
  const refused = await push("application/json", large);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("5");
  expect((await refused.json<ProblemBody>()).detail).toContain("application/x-ndjson");
  expect(api.calls).toEqual([]);
  expect((await push("application/x-ndjson", large)).status).toBe(202);
  held.leave();
  expect((await push("application/json", large)).status).toBe(202);
});
