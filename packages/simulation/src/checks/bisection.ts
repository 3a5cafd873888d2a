import type { World } from "../world/world.ts";
import type { Job } from "./state.ts";

/**
 * Finding k invalid documents among N costs at most 2·k·⌈log₂N⌉ + 2 calls, those not counted that were
 * turned away for a while. A job is one such call, so the jobs are counted that a refused one was
 * split into, over and over, itself included.
 */
export function bisectionFlaw({ mirror, isPoison }: World): string | null {
  const halves = new Map<string, Job[]>();
  const roots: Job[] = [];
  for (const job of mirror.jobs.values()) {
    const parent = job.row.parent_id === null ? undefined : mirror.jobs.get(job.row.parent_id);
    if (parent?.row.status === "split" && parent.row.round === job.row.round && isHalf(job, parent)) {
      halves.set(parent.row.id, [...(halves.get(parent.row.id) ?? []), job]);
    } else roots.push(job);
  }
  for (const root of roots) {
    if (root.row.status !== "split") continue;
    const tree = [root];
    for (const job of tree) tree.push(...(halves.get(job.row.id) ?? []));
    if (tree.some((job) => job.row.status === "split" && ![...job.attempts.values()].at(-1)?.told.has("invalid"))) continue;
    const poison = root.list.filter((key) => isPoison(mirror.version(key)?.content.query ?? "")).length;
    const most = 2 * poison * Math.ceil(Math.log2(root.list.length)) + 2;
    if (tree.length > most) return `finding ${poison} invalid of ${root.list.length} took ${tree.length} calls, more than ${most}`;
  }
  return null;
}

function isHalf(job: Job, parent: Job): boolean {
  return job.list.every((key) => parent.list.includes(key));
}
