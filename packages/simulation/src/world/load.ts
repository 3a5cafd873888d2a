import { DEFAULT_MODEL } from "@sluice/core";
import type { Random } from "../random.ts";
import { MAX_LOAD_SERVICE_MS } from "./kinds.ts";
import type { Push } from "./pushes.ts";
import { MINUTE, type World } from "./world.ts";

/** For how long a seed of the kind `load` pushes. */
const PUSHING_MS = 6 * MINUTE;
/** For how long it runs like that: cron fires until the last scores must be there. */
export const LOAD_MS = PUSHING_MS + 4 * MINUTE;
/**
 * What Sluice may add to it: 75 s, a cron run that is 50 s late, 10 s in the Queue, and 165 s for which the rate of
 * submits, 35 a minute here, holds up two hundred pushes of one minute.
 */
const MAX_ADDED_MS = 75_000 + 50_000 + 10_000 + 165_000;

/** When a seed of the kind `load` pushes: some dozen times a minute, or all in one minute. */
export function drawLoadTimes({ random, timeline }: World): number[] {
  const count = random.int(150, 250);
  const span = random.chance(0.5) ? PUSHING_MS : MINUTE;
  return Array.from({ length: count }, () => timeline.now + random.int(0, span));
}

/** A push of one document or two. */
export function drawSmallPush(number: number, random: Random): Push {
  const tag = `${number}-${random.int(0, 9_999)}`;
  const lane = random.pick(["interactive", "bulk"]);
  const documents = Array.from({ length: random.int(1, 2) }, (_, place) => ({
    id: `doc-${tag}-${place}`,
    place,
    lane,
    query: `query ${tag} ${place}`,
    contexts: [`a text of ${tag} ${place}`],
    contextIds: null,
    metadata: null,
  }));
  return {
    documents,
    collection: "default",
    path: `/v1/documents?collection=default&lane=${lane}`,
    headers: { "content-type": "application/json" },
    pieces: [
      JSON.stringify({
        documents: documents.map(({ id, query, contexts }) => ({ id, query, contexts })),
        model: DEFAULT_MODEL,
      }),
    ],
    rejected: [],
    isKeyed: false,
    submission: null,
    accepted: false,
    firstSentAt: null,
    lastEndedAt: null,
    underWay: 0,
  };
}

/** Checks of each document that its scores come in time: none waits longer because others are pushed too. */
export function boundPushToScore(world: World, pushes: readonly Push[]): void {
  world.onScored = (submission) => {
    const sentAt = pushes.find((push) => push.submission === submission)?.firstSentAt ?? world.timeline.now;
    const wait = world.timeline.now - sentAt;
    if (wait > MAX_LOAD_SERVICE_MS + MAX_ADDED_MS)
      world.fail(`a document of ${submission} got its scores ${Math.round(wait / 1_000)} s after it was pushed`);
  };
}
