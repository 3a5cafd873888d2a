import { isPoison } from "../world/accounts.ts";
import type { World } from "../world/world.ts";
import type { Job } from "./state.ts";

/**
 * Finding k invalid documents among N costs at most 2·k·log₂N + 2 calls, those not counted that were
 * turned away for a while. A job is one such call, so the jobs are counted that a refused one was cut
 * into, over and over, itself included.
 */
export function bisectionFlaw(world: World): string | null {
  const { mirror } = world;
  const children = Map.groupBy(mirror.jobs.values(), ({ row }) => row.parent_id);
  const childrenOf = (job: Job) => children.get(job.row.id) ?? [];
  for (const root of mirror.jobs.values()) {
    if (root.row.status !== "split" || root.origin === "piece") continue;
    const tree = [root];
    for (const job of tree) tree.push(...childrenOf(job).filter(({ origin }) => origin === "piece"));
    if (tree.some((job) => isCutForOtherReasons(job, childrenOf(job)))) continue;
    const poison = root.list.filter((key) => isPoison(mirror.version(key)?.content.query ?? "")).length;
    const most = 2 * poison * Math.log2(root.list.length) + 2;
    if (tree.length > most)
      return `finding ${poison} invalid of ${root.list.length} took ${tree.length} calls, more than ${most}`;
  }
  return null;
}

/** As too large, after batches that brought nothing, or because a part of it was kept back by a pause. */
function isCutForOtherReasons({ row, dispatches }: Job, children: readonly Job[]): boolean {
  if (children.some(({ origin }) => origin === "kept_back")) return true;
  // With few batches left it is cut into more pieces than two or three.
  if (row.unconfirmed_dispatches + row.repeated_dispatches > 0) return true;
  return row.status === "split" && dispatches.get(row.dispatch_number)?.reported.has("invalid") !== true;
}
