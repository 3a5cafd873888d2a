import { isPoison } from "../world/accounts.ts";
import type { World } from "../world/world.ts";
import type { Job } from "./state.ts";

/**
 * Checks that finding k invalid documents among N costs at most 2·k·log₂N + 2 calls, not counting temporary refusals.
 * Each job is one such call, so this counts a refused job and all jobs that it was split into, recursively.
 */
export function bisectionFlaw(world: World): string | null {
  const { mirror } = world;
  const children = Map.groupBy(mirror.jobs.values(), ({ row }) => row.parent_id);
  const childrenOf = (job: Job) => children.get(job.row.id) ?? [];
  for (const root of mirror.jobs.values()) {
    if (root.row.status !== "split" || root.origin === "piece") continue;
    const tree = [root];
    for (const job of tree) tree.push(...childrenOf(job).filter(({ origin }) => origin === "piece"));
    if (tree.some((job) => isSplitForOtherReasons(job, childrenOf(job)))) continue;
    const poison = root.list.filter((key) => isPoison(mirror.version(key)?.content.query ?? "")).length;
    const most = 2 * poison * Math.log2(root.list.length) + 2;
    if (tree.length > most)
      return `finding ${poison} invalid of ${root.list.length} took ${tree.length} calls, more than ${most}`;
  }
  return null;
}

/**
 * Whether a job was split for another reason: too large, batches without results, or part of it was held back by a
 * pause.
 */
function isSplitForOtherReasons({ row, dispatches }: Job, children: readonly Job[]): boolean {
  if (children.some(({ origin }) => origin === "kept_back")) return true;
  // With few batches left, it is split into more than two or three pieces.
  if (row.unconfirmed_dispatches + row.repeated_dispatches > 0) return true;
  return row.status === "split" && dispatches.get(row.dispatch_number)?.reported.has("invalid") !== true;
}
