import { DEFAULT_MODEL } from "@sluice/core";
import type { Random } from "../random.ts";
import type { Push } from "./pushes.ts";
import { MINUTE, type World } from "./world.ts";

/** How long a seed of the kind `load` pushes. */
const PUSHING_MS = 6 * MINUTE;
/** How long it runs in total. Cron fires until the deadline of the last scores. */
export const LOAD_MS = PUSHING_MS + 4 * MINUTE;
/** Draws the push times of a seed of the kind `load`: dozens a minute, or all within one minute. */
export function drawLoadTimes({ random, timeline }: World): { readonly isBurst: boolean; readonly times: number[] } {
  const count = random.int(150, 250);
  const isBurst = random.chance(0.5);
  const span = isBurst ? MINUTE : PUSHING_MS;
  return { isBurst, times: Array.from({ length: count }, () => timeline.now + random.int(0, span)) };
}

/** Draws a push of one or two documents. */
export function drawSmallPush(number: number, random: Random): Push {
  const tag = `${number}-${random.int(0, 9_999)}`;
  const lane = random.pick(["interactive", "bulk"]);
  const documents = Array.from({ length: random.int(1, 2) }, (_, index) => ({
    id: `doc-${tag}-${index}`,
    index,
    lane,
    query: `query ${tag} ${index}`,
    contexts: [`a text of ${tag} ${index}`],
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
    isDeleted: false,
    firstSentAt: null,
    lastEndedAt: null,
    reported: null,
    inProgress: 0,
  };
}
