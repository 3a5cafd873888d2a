import { BATCH_SECONDS } from "./measure-counted.ts";
import { measureRoom } from "./measures/room.ts";
import { fullPlan } from "./plans.ts";
import type { BudgetLine } from "./report/budget-line.ts";
import { judge } from "./report/budgets.ts";
import { judgeRoom } from "./report/room.ts";
import { readResults, writeResults } from "./report/write.ts";
import { Stack } from "./runtime/stack.ts";

/** Measures room and retention, and replaces that section of `RESULTS.md`. Returns its budgets. */
export async function measureRoomOnly(report: (line: string) => void): Promise<BudgetLine[]> {
  await using stack = await Stack.start({ batchSeconds: BATCH_SECONDS });
  const room = await measureRoom(stack, fullPlan.room, report);
  const known = readResults();
  const counted = { ...known.counted, room };
  writeResults({ ...known, roomDate: new Date().toISOString(), counted, budgets: judge(counted) });
  report("wrote packages/bench/RESULTS.md");
  return judgeRoom(room);
}
