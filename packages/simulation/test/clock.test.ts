import type { Handler } from "@sluice/producer/src/context.ts";
import { expect, it } from "vitest";
import { Sqlite } from "../src/d1/sqlite.ts";
import { Clients } from "../src/world/clients.ts";
import { bodyOf } from "../src/world/pushes.ts";
import { answerOf, callOf, dependenciesOf, type Answer } from "../src/world/requests.ts";
import type { Invocation } from "../src/world/invocation.ts";
import { Stack } from "../src/world/stack.ts";
import { MINUTE, World } from "../src/world/world.ts";
import { handlerOf } from "../src/world/handlers.ts";

const pause = handlerOf("pause");
const resume = handlerOf("resume");
const postDocuments = handlerOf("pushDocuments");

const TURNS = 200;
const AT_ONCE = { disconnectsAfter: null, pause: () => Promise.resolve() };

/** Yields chunks that each take many turns of the event loop but no virtual time. */
async function* slowly(pieces: Iterable<string>): AsyncGenerator<string> {
  for (const piece of pieces) {
    for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    yield piece;
  }
}

function openWorld() {
  const world = new World(1, new Sqlite(), { keepsTrace: true, kind: "calm" });
  world.endFaults();
  return { world, stack: new Stack(world), never: () => world.flaw !== null };
}

interface Answered {
  readonly answer: Answer | null;
  readonly after: number;
}

function ask(world: World, run: (by: Invocation) => ReturnType<Handler>): readonly Answered[] {
  const answers: Answered[] = [];
  const startedAt = world.timeline.now;
  world.invoke(
    "producer",
    async (by) => answerOf(await run(by)),
    (answer) => answers.push({ answer, after: world.timeline.now - startedAt }),
  );
  return answers;
}

const json = (by: Invocation, path: string, pieces: Iterable<string> | AsyncIterable<string>) =>
  callOf({ path, headers: { "content-type": "application/json" }, body: bodyOf(by, pieces, AT_ONCE) });

it("stops while a request that was started between events runs", async () => {
  const { world, stack, never } = openWorld();
  const answers = ask(world, (by) => resume(dependenciesOf(world, stack, by), json(by, "/v1/resume", ["{}"])));
  await world.timeline.runUntil(world.timeline.now + 60 * MINUTE, never);
  expect(world.flaw).toBeNull();
  expect(answers).toMatchObject([{ answer: { status: 200 } }]);
  expect(answers[0]?.after).toBeLessThan(1_000);
});

it("stops while a request's body takes many turns of the event loop", async () => {
  const { world, stack, never } = openWorld();
  const answers = ask(world, (by) =>
    resume(dependenciesOf(world, stack, by), json(by, "/v1/resume", slowly(["{", " ", "}"]))),
  );
  await world.timeline.runUntil(world.timeline.now + 60 * MINUTE, never);
  expect(world.flaw).toBeNull();
  expect(answers).toMatchObject([{ answer: { status: 200 } }]);
  expect(answers[0]?.after).toBeLessThan(1_000);
});

it("stops while the body is read concurrently with a call in flight", async () => {
  const { world, never } = openWorld();
  const arrivals: number[] = [];
  const startedAt = world.timeline.now;
  world.invoke(
    "producer",
    async (by) => {
      const body = bodyOf(by, slowly(["a", "b", "c"]), AT_ONCE);
      const call = by.sleep(MINUTE);
      for await (const _ of body) arrivals.push(world.timeline.now - startedAt);
      await call;
    },
    () => undefined,
  );
  await world.timeline.runUntil(startedAt + 60 * MINUTE, never);
  expect(arrivals).toEqual([0, 0, 0]);
});

it("advances while a body waits for its client, and between the calls of a push", async () => {
  const { world, stack, never } = openWorld();
  const document = JSON.stringify({ query: "q", contexts: ["a"] });
  const answers = ask(world, (by) => {
    const body = bodyOf(by, slowly([document]), { disconnectsAfter: null, pause: () => by.sleep(MINUTE) });
    const headers = { "content-type": "application/json" };
    return postDocuments(dependenciesOf(world, stack, by), callOf({ path: "/v1/documents", headers, body }));
  });
  await world.timeline.runUntil(world.timeline.now + 10 * MINUTE, never);
  expect(answers).toMatchObject([{ answer: { status: 202 } }]);
  // A minute passes before the document, and one before the end of the body.
  expect(answers[0]?.after).toBeGreaterThan(2 * MINUTE);
  expect(answers[0]?.after).toBeLessThan(3 * MINUTE);
});

it("reports a Worker that waits for an event that never comes", async () => {
  const { world, never } = openWorld();
  world.timeline.maxWorkMs = 100;
  world.invoke(
    "poller",
    () => new Promise(() => undefined),
    () => undefined,
  );
  await world.timeline.runUntil(world.timeline.now + MINUTE, never);
  expect(world.flaw).toBe("waiting for an event that never comes: poller#1");
});

it("reports a Worker that exceeds its wall time without a fault", async () => {
  const { world, never } = openWorld();
  world.invoke(
    "poller",
    (by) => by.sleep(16 * MINUTE),
    () => undefined,
  );
  await world.timeline.runUntil(world.timeline.now + 20 * MINUTE, never);
  expect(world.flaw).toBe("poller#1 exceeded its wall time without a fault");
});

it("repeats a client's last action until it is answered", async () => {
  const { world, stack, never } = openWorld();
  const { timeline, mirror } = world;
  const clients = new Clients(world, stack);
  ask(world, (by) => pause(dependenciesOf(world, stack, by), json(by, "/v1/pause", ["{}"])));
  await timeline.runUntil(timeline.now + MINUTE, never);
  expect([...mirror.pauses.requested]).toEqual(["all"]);

  world.d1DownUntil = timeline.now + 5 * MINUTE;
  clients.settle();
  await timeline.runUntil(timeline.now + 4 * MINUTE, never);
  expect([...mirror.pauses.requested]).toEqual(["all"]);
  await timeline.runUntil(timeline.now + 3 * MINUTE, never);
  expect([...mirror.pauses.requested]).toEqual([]);
  expect(world.flaw).toBeNull();
});
