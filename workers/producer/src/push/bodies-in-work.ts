import { MAX_JSON_BODY_BYTES } from "@sluice/core";
import type { BodyPiece } from "../http/body.ts";
import type { Problem } from "../http/problems.ts";

/**
 * A JSON body is in memory whole, as bytes, and as the documents it becomes: twice its bytes, and where it is refused
 * about four times, since it is then parsed as one text. A Worker has 128 MB for all requests that it answers at once.
 */
const MAX_BYTES = 1.5 * MAX_JSON_BODY_BYTES;
/** This much of each is read at once: hundreds of small bodies fit beside the large ones. */
const FREE_BYTES = 100_000;
/** A request whose caller went away never says that it is through, so its place is free after this. Milliseconds. */
const MAX_STAY_MS = 60_000;
/** Between two looks whether there is room, and for how long in all. Milliseconds. */
const LOOK_AGAIN = 50;
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
    "Too many large JSON bodies are being read at once. Nothing of this one was taken in: push it again, or as " +
    "application/x-ndjson, which is streamed and does not wait.",
  headers: { "retry-after": "5" },
};

/** A body that waits for its turn, and what to call once nothing of it is held any more. */
interface GuardedBody {
  readonly body: AsyncIterable<BodyPiece>;
  readonly leave: () => void;
}

/**
 * Bounds the JSON bodies that one isolate works on at once; of the others only the beginning is read
 * meanwhile. Requests look again by themselves: a promise of another request might never be kept,
 * since the platform drops whatever a request left undone once its caller has gone.
 */
export class BodiesInWork {
  readonly #bodies = new Set<Body>();

  /**
   * `bytes`: how long it will be, as far as its sender says. Where there is no room in 30 s it ends with
   * a problem.
   */
  guard(clock: Clock, body: AsyncIterable<BodyPiece>, bytes: number): GuardedBody {
    let leave = (): void => {};
    const enter = async (): Promise<boolean> => {
      for (let waited = 0; !this.#hasRoom(bytes, clock.now()); waited += LOOK_AGAIN) {
        if (waited >= MAX_WAIT_MS) return false;
        await clock.sleep(LOOK_AGAIN);
      }
      const place = { bytes, since: clock.now() };
      this.#bodies.add(place);
      leave = () => this.#bodies.delete(place);
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

/** Bytes that a request's body may have once unpacked, as far as can be told before it is read. */
export function expectedBytes(headers: Headers): number {
  const length = headers.get("content-length");
  const isPacked = (headers.get("content-encoding") ?? "identity").trim().toLowerCase() !== "identity";
  return length === null || isPacked ? MAX_JSON_BODY_BYTES : Math.min(Number(length), MAX_JSON_BODY_BYTES);
}
