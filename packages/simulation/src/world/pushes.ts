import { DEFAULT_MODEL, type SubmissionId } from "@sluice/core";
import type { Content } from "../checks/state.ts";
import type { Caller } from "./caller.ts";
import type { Faults } from "./faults.ts";
import type { Invocation } from "./invocation.ts";
import type { Random } from "../random.ts";
import type { World } from "./world.ts";

export interface PushedDocument extends Content {
  readonly id: string | null;
}

/** A push as its client intends it, and its state as the client knows it. */
export interface Push {
  readonly documents: readonly PushedDocument[];
  readonly collection: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body in chunks. */
  readonly pieces: readonly string[];
  /** Lines that are not documents, from 1. */
  readonly rejected: readonly number[];
  readonly isKeyed: boolean;
  /** Read from D1 when its row appears. */
  submission: SubmissionId | null;
  /** Whether it was answered with 202. */
  accepted: boolean;
  /** Whether it was answered that its collection was deleted. */
  isDeleted: boolean;
  /** When it was first sent, and when its latest request ended. */
  firstSentAt: number | null;
  lastEndedAt: number | null;
  /** Since when answers report it as in progress although the request that last held it has ended. */
  reported: { readonly holder: Caller; readonly since: number } | null;
  /** The number of its running requests. */
  inProgress: number;
}

/** Draws a time in the first four fifths of the period until `end`. */
export function drawTime({ random, timeline }: World, end: number): number {
  return timeline.now + random.int(0, Math.floor((end - timeline.now) * 0.8));
}

/** Draws when a seed pushes: at once, and a few more times. */
export function drawTimes(world: World, end: number): number[] {
  const { faults, random, timeline } = world;
  const count = random.int(1, random.chance(0.2) ? 6 : 3);
  if (faults.pushesShareJobs) {
    // Groups within a second: one delivery may hold all of a group.
    const groups = Array.from({ length: count }, (_, index) => (index === 0 ? timeline.now : drawTime(world, end)));
    return groups.flatMap((time) => Array.from({ length: random.int(2, 4) }, () => time + random.int(0, 1_000)));
  }
  return Array.from({ length: count }, (_, index) => (index === 0 ? timeline.now : drawTime(world, end)));
}

/**
 * Draws the delay in milliseconds until a second client sends the same push; `null` if none does. Of two requests with
 * one key, one opens the submission.
 */
export function drawSecondSend(push: Push, random: Random, faults: Faults): number | null {
  if (!push.isKeyed || !faults.strikes("client_sends_twice")) return null;
  return random.pick([1, 1_000, 30_000, 70_000, 200_000]);
}

/** Draws a small or larger push of new documents, or of new texts for known ones. */
export function drawPush(number: number, random: Random, faults: Faults): Push {
  const { pushesAreMixed: isMixed, pushesShareJobs } = faults;
  const sizes = pushesShareJobs
    ? [1, 3]
    : random.pick([
        [1, 3],
        [1, 10],
        [5, 30],
      ]);
  const count = isMixed ? random.int(15, 40) : random.int(sizes[0] ?? 1, sizes[1] ?? 1);
  const again = faults.strikes("client_new_version");
  const tag = `${number}-${random.int(0, 9_999)}`;
  const names = random.shuffled(
    Array.from({ length: count + 4 }, (_, index) => `doc-${again ? index : `${tag}-${index}`}`),
  );
  const lane = pushesShareJobs ? "interactive" : random.pick(["interactive", "bulk"]);
  const isNdjson = isMixed || random.chance(0.65);
  const lines = drawLines(count, isNdjson && faults.strikes("client_rejected_lines"), random);
  const indexes = lines.filter((line) => line !== "").flatMap((line, index) => (line === null ? [index] : []));
  const documents = indexes.map((index, number) => {
    const isLong = random.chance(isMixed ? 0.25 : 0.06);
    if (isLong) faults.count("part_staged");
    const id = random.chance(0.8) ? (names[number] ?? null) : null;
    return drawDocument({ id, index, lane, tag, isLong }, random, faults);
  });
  const collection = random.pick(["default", "default", "other"]);
  const query = new URLSearchParams({ collection, lane });
  if (random.chance(0.2)) query.set("label", "labeled");
  const path = `/v1/documents?${query.toString()}`;
  return pushOf(documents, { collection, path, lines, isNdjson, key: isMixed || random.chance(0.7) ? tag : null });
}

/** Draws a push of the same documents with other texts, as from a client that corrects a mistake at once. */
export function drawCorrection(push: Push, number: number, random: Random, faults: Faults): Push {
  const tag = `${number}-${random.int(0, 9_999)}`;
  const documents = push.documents.map(({ id, lane }, index) =>
    drawDocument({ id, index, lane, tag, isLong: false }, random, faults),
  );
  const { collection, path } = push;
  const lines = documents.map(() => null);
  return pushOf(documents, { collection, path, lines, isNdjson: false, key: push.isKeyed ? tag : null });
}

/** Draws the lines of a body: `null` is a document. Other lines are refused, except blank ones. */
function drawLines(count: number, withOthers: boolean, random: Random): (string | null)[] {
  const lines = Array.from({ length: count }, (): (string | null)[] =>
    withOthers && random.chance(0.3) ? [random.pick(NO_DOCUMENTS), null] : [null],
  );
  return lines.flat();
}

const NO_DOCUMENTS = ["", "not JSON", "[]", '{"query":"","contexts":["a"]}', '{"query":"q","contexts":[]}', '{"q":1}'];

interface DocumentHead {
  readonly id: string | null;
  readonly index: number;
  readonly lane: string;
  readonly tag: string;
  readonly isLong: boolean;
}

function drawDocument({ isLong, tag, ...head }: DocumentHead, random: Random, faults: Faults): PushedDocument {
  const { index } = head;
  const contexts = Array.from(
    { length: random.int(1, 4) },
    (_, number) => `text ${number} of ${tag} ${index}${isLong ? " long".repeat(400) : ""}`,
  );
  return {
    ...head,
    query: `${behavior(faults)} ${tag} ${index}`,
    contexts,
    contextIds: random.chance(0.4) ? contexts.map((_, number) => `c${number}-${index}`) : null,
    metadata: index % 2 === 0 ? metadataOf(index, tag) : null,
  };
}

interface PushForm {
  readonly collection: string;
  readonly path: string;
  readonly lines: readonly (string | null)[];
  readonly isNdjson: boolean;
  /** `null`: it has none. */
  readonly key: string | null;
}

function pushOf(documents: readonly PushedDocument[], { collection, path, lines, isNdjson, key }: PushForm): Push {
  const values = documents.map(jsonOf);
  const left = [...values];
  const rejected = lines.flatMap((line, index) => (line === null || line === "" ? [] : [index + 1]));
  return {
    documents,
    collection,
    path,
    headers: {
      "content-type": isNdjson ? "application/x-ndjson" : "application/json",
      ...(key !== null && { "idempotency-key": `key-${key}` }),
    },
    pieces: isNdjson
      ? lines.map((line) => `${line ?? left.shift() ?? ""}\n`)
      : [`{"documents":[${values.join(",")}],"model":${JSON.stringify(DEFAULT_MODEL)}}`],
    rejected,
    isKeyed: key !== null,
    submission: null,
    accepted: false,
    isDeleted: false,
    firstSentAt: null,
    lastEndedAt: null,
    reported: null,
    inProgress: 0,
  };
}

/** Returns metadata that changes if its numbers are parsed. */
function metadataOf(index: number, tag: string): string {
  return `{"id":${1_546_130_668_394_913_801n + BigInt(index)},"version":1.0,"tag":"${tag}"}`;
}

/** Writes a document as its client does. */
function jsonOf({ id, query, contexts, contextIds, metadata }: PushedDocument): string {
  const json = JSON.stringify({
    ...(id !== null && { id }),
    query,
    contexts: contexts.map((context, index) =>
      contextIds === null ? context : { id: contextIds[index], text: context },
    ),
  });
  return metadata === null ? json : `${json.slice(0, -1)},"metadata":${metadata}}`;
}

/** Draws how the service treats a document: it refuses it, never answers for it, or scores it. */
function behavior(faults: Faults): string {
  if (faults.strikes("poison")) return "poison";
  return faults.strikes("document_never_answered") ? "unanswerable" : "query";
}

interface Transfer {
  /** The client disconnects after this many chunks; `null` if never. */
  readonly disconnectsAfter: number | null;
  /** Waits virtual time before each chunk. */
  readonly pause: () => Promise<void>;
}

/**
 * Streams the body of a request that `by` handles, in chunks. Producing a chunk may take turns of the event loop. The
 * clock stops during that, even if the handler is waiting for a call.
 */
export function bodyOf(
  by: Invocation,
  pieces: Iterable<string> | AsyncIterable<string>,
  { disconnectsAfter, pause }: Transfer,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const source = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  let sent = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await pause();
        if (sent === disconnectsAfter) return controller.error(new Error("the client disconnected"));
        const piece = await by.work(async () => source.next());
        sent += 1;
        if (piece.done === true) controller.close();
        else controller.enqueue(encoder.encode(piece.value));
      },
    },
    { highWaterMark: 0 },
  );
}
