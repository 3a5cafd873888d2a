import { MAX_JSON_BODY_BYTES } from "@sluice/core";
import type { BodyPiece } from "../http/body.ts";
import type { Problem } from "../http/problems.ts";

/**
 * A JSON body is in memory twice, as bytes and as the documents in it; if it is refused, about four times, since it is then
 * parsed as one text. A Worker has 128 MB for all the requests that it answers at once.
 */
const MAX_BYTES = 1.5 * MAX_JSON_BODY_BYTES;
/** This much of each body is read without waiting: hundreds of small bodies fit beside the large ones. */
const FREE_BYTES = 100_000;
/** A request whose caller disconnected never leaves, so that its room is given away after this time. */
const MAX_STAY_MS = 60_000;
/** How often a body that waits looks for room, and for how long in all. */
const LOOK_INTERVAL_MS = 50;
const MAX_WAIT_MS = 30_000;

interface Clock {
  /** Milliseconds. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

interface Body {
  readonly bytes: number;
  readonly since: number;
}

const NO_ROOM: Problem = {
  name: "unavailable",
  detail:
    "Too many large JSON bodies are being read at once. Nothing of this one was stored: push it again, or push it as " +
    "application/x-ndjson, which is streamed and does not wait.",
  headers: { "retry-after": "5" },
};

/** A body that waits for room. `leave` gives its room back. */
interface GuardedBody {
  readonly body: AsyncIterable<BodyPiece>;
  readonly leave: () => void;
}

/**
 * Limits the JSON bodies that one isolate reads at once; only the beginning of the others is read meanwhile. Each request
 * looks for room by itself rather than being woken by another: when a caller disconnects, the platform drops what its
 * request has not done yet.
 */
export class BodiesInWork {
  readonly #bodies = new Set<Body>();

  /**
   * `bytes`: its length, as far as its sender says. A body that finds no room in 30 s ends with a problem.
   */
  guard(clock: Clock, body: AsyncIterable<BodyPiece>, bytes: number): GuardedBody {
    let leave = (): void => {};
    const enter = async (): Promise<boolean> => {
      for (let waited = 0; !this.#hasRoom(bytes, clock.now()); waited += LOOK_INTERVAL_MS) {
        if (waited >= MAX_WAIT_MS) return false;
        await clock.sleep(LOOK_INTERVAL_MS);
      }
      const room = { bytes, since: clock.now() };
      this.#bodies.add(room);
      leave = () => this.#bodies.delete(room);
      return true;
    };
    return { body: entering(body, enter), leave: () => leave() };
  }

  #hasRoom(bytes: number, now: number): boolean {
    let held = 0;
    for (const body of this.#bodies) {
      if (now - body.since >= MAX_STAY_MS) this.#bodies.delete(body);
      else held += body.bytes;
    }
    return held === 0 || held + bytes <= MAX_BYTES;
  }
}

async function* entering(body: AsyncIterable<BodyPiece>, enter: () => Promise<boolean>): AsyncGenerator<BodyPiece> {
  let free = FREE_BYTES;
  for await (const piece of body) {
    if (free > 0 && !("problem" in piece)) {
      free -= piece.length;
      if (free <= 0 && !(await enter())) {
        yield { problem: NO_ROOM };
        return;
      }
    }
    yield piece;
  }
}

/** Bytes that a request's JSON body may have once decompressed, as far as its headers say. */
export function expectedBytes(headers: Headers): number {
  return Math.min(declaredBytes(headers) ?? MAX_JSON_BODY_BYTES, MAX_JSON_BODY_BYTES);
}

/** Bytes of a request's body, as its headers say; `null` if they do not, or if it is compressed. */
export function declaredBytes(headers: Headers): number | null {
  const length = headers.get("content-length");
  const isCompressed = (headers.get("content-encoding") ?? "identity").trim().toLowerCase() !== "identity";
  return length === null || isCompressed ? null : Number(length);
}
