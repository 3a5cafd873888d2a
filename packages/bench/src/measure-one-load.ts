import { print } from "@sluice/client/terminal";
import { measureBacklog, measureLoad, type Backlog, type Load } from "./measures/capacity.ts";
import { describeCase } from "./measures/virtual-threads.ts";
import { figure } from "./report/table.ts";

/** The arguments of `--load` and `--backlog`, as text. */
export interface LoadArguments {
  readonly load?: string;
  readonly backlog?: string;
  readonly unpolled: boolean;
  readonly full: boolean;
  readonly events: boolean;
  readonly minutes: string;
  readonly service: string;
}

/** Measures one load or one backlog and prints the result. Returns errors in the arguments. */
export async function measureOneLoad(given: LoadArguments): Promise<string | null> {
  const [minutes, serviceSeconds] = [Number(given.minutes), Number(given.service)];
  const jobs = Number(given.load ?? given.backlog);
  if (!(jobs > 0 && minutes > 0 && serviceSeconds > 0)) return "Numbers must be above 0.";
  const startedAt = performance.now();
  if (given.load !== undefined) {
    const size = given.full ? "full" : "small";
    showLoad(
      await measureLoad({
        kind: "load",
        events: given.events,
        jobs: size,
        jobsPerMinute: jobs,
        minutes,
        serviceSeconds,
      }),
    );
  } else {
    showBacklog(
      await measureBacklog({
        kind: "backlog",
        events: given.events,
        jobs,
        of: given.unpolled ? "unpolled" : "undispatched",
        serviceSeconds,
      }),
    );
  }
  print(`measured in ${figure((performance.now() - startedAt) / 1_000)} s`);
  return null;
}

function showLoad(load: Load): void {
  print(describeCase(load));
  print(`  ended per minute, second half ${figure(load.endedPerMinute)}`);
  print(`  accepted to queryable        p50 ${seconds(load.p50)}, p99 ${seconds(load.p99)}`);
  print(`  p99 by quarter               ${load.p99ByQuarter.map(seconds).join(", ")}`);
  print(`  ended in the last minute     ${seconds(load.last)} (median)`);
  print(`  never ended                  ${figure(load.open)}`);
  showUse(load);
}

function showBacklog(backlog: Backlog): void {
  print(describeCase(backlog));
  print(
    `  drained in                   ${figure(backlog.minutes)} minutes, ${figure(backlog.endedPerMinute)} per minute`,
  );
  showUse(backlog);
}

function showUse({ use }: Load | Backlog): void {
  print(
    `  Workers AI                   ${figure(use.submits)} submits, at most ${figure(use.maxSubmitsPerMinute)} per minute; ${figure(use.polls)} polls`,
  );
  for (const [worker, one] of Object.entries(use.workers)) {
    print(
      `  ${worker.padEnd(29)}${figure(one.invocations)} invocations, at most ${figure(one.maxStatements)} statements each, ${figure(one.maxHeldBytes / 1e6)} MB of texts at once`,
    );
  }
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}
