import type { Passage } from "./ports.ts";
import type { Surroundings } from "./surroundings.ts";

interface DatabaseWorld extends Surroundings {
  /** The period in which D1 does not answer at all. */
  readonly outage: { readonly from: number; readonly to: number };
  /** The time until which D1 fails every call. It starts at a call. */
  d1DownUntil: number;
}

const TRANSIENT = [
  "D1_ERROR: Network connection lost.",
  "D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.",
  "D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node.",
  "D1_ERROR: internal error; reference = 0",
  "D1_ERROR: D1 DB is overloaded. Requests queued for too long.",
] as const;

/** Decides the faults of one call to D1. */
export function d1Passage(world: DatabaseWorld): Passage {
  const { faults, outage, random, timeline } = world;
  const passing = () => new Error(random.pick(TRANSIENT));
  if (faults.isOn && timeline.now >= outage.from && timeline.now < outage.to) {
    return { fault: "d1_outage", lost: true, error: passing() };
  }
  if (timeline.now < world.d1DownUntil) return { fault: "d1_down_for_a_while", lost: true, error: passing() };
  if (faults.strikes("d1_down_for_a_while")) {
    world.d1DownUntil = timeline.now + random.spread(1_000, 120_000);
    return { fault: "d1_down_for_a_while", lost: true, error: passing() };
  }
  if (faults.strikes("d1_error_before")) return { fault: "d1_error_before", lost: true, error: passing() };
  if (faults.strikes("d1_error_after_commit")) return { fault: "d1_error_after_commit", error: passing() };
  if (faults.strikes("d1_odd_error")) {
    return {
      fault: "d1_odd_error",
      lost: random.chance(0.5),
      error: new Error("D1_ERROR: an error with an unknown text"),
    };
  }
  if (faults.strikes("d1_constraint")) {
    const error = new Error("D1_ERROR: CHECK constraint failed: submissions_recorded: SQLITE_CONSTRAINT");
    return { fault: "d1_constraint", lost: true, error };
  }
  // Stalls of 60 to 80 s have been reported. By then the caller has given up, and may have retried.
  const long = random.int(36_000, 80_000);
  if (faults.strikes("d1_stall_answered_late")) return { fault: "d1_stall_answered_late", back: long };
  if (faults.strikes("d1_stall_lost")) return { fault: "d1_stall_lost", lost: true, error: passing(), back: long };
  if (faults.strikes("d1_late_commit")) return { fault: "d1_late_commit", there: long };
  return { fault: null };
}
