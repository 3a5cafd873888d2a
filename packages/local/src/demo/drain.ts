import { hasEnded, type Sluice } from "@sluice/client/library";
import { pause } from "../signals.ts";

const INTERVAL_MS = 100;
/** How many of the newest submissions are read. The last push is one of them. */
const MAX_SUBMISSIONS = 1_000;

/** Waits up to `ms` milliseconds until D1 has recorded all pushed documents. */
export async function recordQueue(client: Pick<Sluice, "submissions">, ms: number): Promise<void> {
  const late = AbortSignal.timeout(ms);
  try {
    while (!late.aborted) {
      const { data } = await client.submissions({ limit: MAX_SUBMISSIONS, signal: late }).page();
      const open = data.filter((submission) => !hasEnded(submission));
      if (open.every(({ status, counts }) => status !== "receiving" && counts.queued === 0)) return;
      await pause(INTERVAL_MS, late);
    }
  } catch {
    // The stack has ended, so waiting is pointless.
  }
}
