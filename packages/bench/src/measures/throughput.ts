import type { Arm, ArmName } from "../arms/arm.ts";
import { arms, tickUntil } from "../arms/index.ts";
import { makeDocuments, toBodies, type BenchDocument, type DocumentShape } from "../documents.ts";
import type { Stack } from "../runtime/stack.ts";

/** One run of an arm, from the push until all scores are read. In seconds. */
export interface ThroughputRun {
  readonly arm: ArmName;
  readonly shape: string;
  readonly documents: number;
  readonly bytes: number;
  /** Until all pushes are answered. */
  readonly push: number;
  /** From then until all have scores. */
  readonly finish: number;
  /** From then until all are read. */
  readonly read: number;
  /** Time of its handlers, including waiting, and D1's own time. */
  readonly handlers: {
    readonly fetch: number;
    readonly queue: number;
    readonly scheduled: number;
    readonly d1: number;
  };
}

export interface ThroughputCase {
  readonly shape: DocumentShape;
  /** Documents for each arm: few for arms that need a call per document. */
  readonly arms: Partial<Record<ArmName, number>>;
  readonly rounds: number;
}

const BODY_BYTES = 45_000_000;

/** Runs the arms of a case in turns, round by round, so that all see the same machine load. */
export async function measureThroughput(
  stack: Stack,
  one: ThroughputCase,
  report: (line: string) => void,
): Promise<ThroughputRun[]> {
  await stack.plan({});
  const documents = makeDocuments(one.shape, Math.max(...Object.values(one.arms)), 51);
  const runs: ThroughputRun[] = [];
  for (let round = 0; round < one.rounds; round += 1) {
    for (const arm of arms) {
      const count = one.arms[arm.name];
      if (count === undefined) continue;
      const run = await runOnce(stack, arm, one.shape, documents.slice(0, count));
      runs.push(run);
      report(`${arm.name}, ${count} documents of ${one.shape.name}: ${Math.round(rate(run))} per second`);
    }
  }
  return runs;
}

async function runOnce(
  stack: Stack,
  arm: Arm,
  shape: DocumentShape,
  list: readonly BenchDocument[],
): Promise<ThroughputRun> {
  const bodies = toBodies(list, BODY_BYTES);
  const documents = list.length;
  await stack.clear(arm.name);
  const startedAt = performance.now();
  await arm.push(stack, bodies);
  const pushedAt = performance.now();
  await tickUntil(async () => {
    await arm.poll(stack);
    return arm.isDone(stack, documents);
  });
  const finishedAt = performance.now();
  const read = await stack.readBack(arm.name, arm.table);
  const readAt = performance.now();
  if (read.documents !== documents) throw new Error(`${arm.name} scored ${read.documents} of ${documents} documents`);
  const { busy, d1 } = await stack.takeCounts(arm.name);
  return {
    arm: arm.name,
    shape: shape.name,
    documents,
    bytes: bodies.reduce((sum, body) => sum + body.length, 0),
    push: (pushedAt - startedAt) / 1_000,
    finish: (finishedAt - pushedAt) / 1_000,
    read: (readAt - finishedAt) / 1_000,
    handlers: {
      fetch: busy.fetch / 1_000,
      queue: busy.queue / 1_000,
      scheduled: busy.scheduled / 1_000,
      d1: Object.values(d1.statements).reduce((sum, { milliseconds }) => sum + milliseconds, 0) / 1_000,
    },
  };
}

export function seconds({ push, finish, read }: ThroughputRun): number {
  return push + finish + read;
}

/** Documents per second, from the push until they are read. */
export function rate(run: ThroughputRun): number {
  return run.documents / seconds(run);
}

/** The median run. */
export function medianRun(runs: readonly ThroughputRun[]): ThroughputRun | undefined {
  return runs.toSorted((a, b) => rate(a) - rate(b))[Math.floor(runs.length / 2)];
}

/** The median run of each arm and number of documents. */
export function medians(runs: readonly ThroughputRun[]): ThroughputRun[] {
  const groups = Map.groupBy(runs, ({ arm, documents }) => `${documents} ${arm}`);
  return [...groups.values()].flatMap((group) => medianRun(group) ?? []);
}

/** The exponent with which the time grows with the number of documents: 1 is linear. Least squares over logarithms. */
export function growthExponent(runs: readonly ThroughputRun[]): number {
  const points = runs.map((run) => [Math.log(run.documents), Math.log(seconds(run))] as const);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([a]) => a)), mean(points.map(([, b]) => b))];
  const covariance = mean(points.map(([a, b]) => (a - x) * (b - y)));
  return covariance / mean(points.map(([a]) => (a - x) ** 2));
}
