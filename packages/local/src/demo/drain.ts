import { pause } from "../signals.ts";
import { openSubmissions, type Api } from "./api.ts";

const LOOK_MS = 100;

/** Waits, up to `ms` milliseconds, until D1 has recorded everything that was pushed. */
export async function recordQueue(api: Api, ms: number): Promise<void> {
  const late = AbortSignal.timeout(ms);
  try {
    while (!late.aborted) {
      const open = await openSubmissions(api);
      if (open.every(({ status, counts }) => status !== "receiving" && counts.queued === 0)) return;
      await pause(LOOK_MS, late);
    }
  } catch {
    // The stack has ended: there is nothing to wait for.
  }
}
