import { PRICES, TOKEN_ASSUMPTION } from "@sluice/core";
import type { ArmName } from "../arms/arm.ts";
import type { Usage } from "../measures/operations.ts";
import { CALLS_PER_RUN } from "../measures/poison.ts";
import { growthExponent, medianRun, medians, rate, seconds, type ThroughputRun } from "../measures/throughput.ts";
import { describeCapacity } from "./capacity.ts";
import { describeRoom } from "./room.ts";
import { dollarsPerMillion, tokensPerDocument } from "./cost.ts";
import type { Results } from "./results.ts";
import { figure, megabytes, table } from "./table.ts";

/** `RESULTS.md`, generated from the measurements only. */
export function toMarkdown(results: Results): string {
  const { machine, date, roomDate } = results;
  return [
    "# Figures",
    `Written by \`pnpm bench\` on ${date.slice(0, 10)}: ${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ` +
      `${machine.system}; Node ${machine.node}, wrangler ${machine.wrangler}, workerd ${machine.workerd}; load ${machine.load} before the run. ` +
      "Everything runs in the local runtime, with a stand-in for Workers AI that answers at once. Counts are those of " +
      "production; times compare designs on one machine, and do not predict Cloudflare's." +
      (roomDate === date
        ? ""
        : ` [Room](#room) was measured later, on ${roomDate.slice(0, 10)}, by \`pnpm bench --room\`.`),
    ARMS,
    "## Budgets",
    table(
      ["", "budget", "measured", ""],
      results.budgets.map(({ what, budget, measured, ok }) => [what, budget, measured, ok ? "ok" : "**over**"]),
    ),
    "Times and heaps; these never fail a run:",
    table(
      ["", "wanted", "measured", ""],
      results.goals.map(({ what, budget, measured, ok }) => [what, budget, measured, ok ? "ok" : "**missed**"]),
    ),
    operations(results),
    describeRoom(results.counted.room),
    throughput(results),
    describeCapacity(results.counted.capacity),
    freshness(results),
    poller(results),
    memory(results),
    poison(results),
  ].join("\n\n");
}

const ARMS = `The arms, each its own Worker in the same runtime, in \`src/arms/\`:

- **floor**: parses the same bytes, inserts documents and outcomes, and reads them back. No Queue, no AI, no checks.
- **relay**: the floor's work on the path of Sluice's documents: through a Queue in full messages, and a batch at
  Workers AI. No checks, no recovery. The difference to the floor is the cost of the stand-ins for Queue and Workers AI;
  the difference to sluice is the cost of Sluice's promises.
- **tutorial**: a message, a direct \`AI.run\` and an INSERT for each document. Full sends; six documents at a time.
- **row-per-document**: a message and a job row per document, a batch per delivery, every row updated at every poll. A D1 call per
  row, as projects with this design do it; **batched** combines them into one \`batch()\` for each delivery, poll and answer.
- **sluice**: the real Workers.`;

function operations({ counted: { usages, lookups, deliveries } }: Results): string {
  const rows = usages.map((usage) => [
    name(usage),
    figure(usage.rowsWritten),
    figure(usage.rowsRead),
    figure(usage.queueOperations),
    figure(usage.requests),
    figure(usage.aiCalls),
    usage.storageBytes === null ? "" : figure(usage.storageBytes),
    `$${dollarsPerMillion(usage).toFixed(2)}`,
  ]);
  const perDocument = tokensPerDocument();
  const tokens = perDocument * 1e6;
  return [
    "## Billable operations per document",
    "Documents of 1.5 KB with 5 contexts. D1 rows are the sum of `meta` over every statement; Queue operations are counted " +
      "for each 64 KB actually sent. Dollars are for a million documents at list price, free tiers ignored, without tokens and storage.",
    table(
      ["", "rows written", "rows read", "Queue operations", "requests", "AI calls", "bytes in D1", "$ / million"],
      rows,
    ),
    `Tokens are the same for all: about ${perDocument} per document, so $${(tokens * PRICES.bgeM3Token).toFixed(2)} per million documents ` +
      `with bge-m3. Direct calls to \`bge-reranker-base\` would cost $${(tokens * PRICES.rerankerToken).toFixed(2)} for the same tokens: it cannot ` +
      "be batched, but if a direct call for each document is fast enough, the tutorial's design with that model is cheaper than any batch design.  " +
      `As everywhere here, ${TOKEN_ASSUMPTION}.`,
    "![Dollars for a million documents](costs.svg)",
    "Reading one document's scores:",
    table(
      ["", "contexts", "rows read"],
      lookups.map(({ what, contexts, rowsRead }) => [`\`${what}\``, figure(contexts), figure(rowsRead)]),
    ),
    "The jobs of one delivery:",
    table(
      ["documents", "messages", "documents", "jobs", "fewest possible", "use of the limit, all but the last"],
      deliveries.map(({ shape, messages, documents, jobs, fewest, leastFull }) => [
        shape,
        ...[messages, documents, jobs, fewest, leastFull].map(figure),
      ]),
    ),
  ].join("\n\n");
}

function name({ arm, way, polls }: Usage): string {
  return `${arm}, ${way}${polls === 0 ? "" : polls === 1 ? ", 1 poll" : `, ${polls} polls`}`;
}

function throughput({ throughput: { compared, growth } }: Results): string {
  const groups = Map.groupBy(compared, ({ shape }) => shape);
  const rows = [...groups].flatMap(([shape, runs]) => {
    const median = (arm: ArmName) => medianRun(runs.filter((run) => run.arm === arm));
    const ours = median("sluice");
    return [...new Set(runs.map(({ arm }) => arm))].map((arm) => {
      const run = median(arm);
      if (run === undefined || ours === undefined) return [];
      return [
        `${shape}, ${arm}`,
        figure(run.documents),
        figure(Math.round(rate(run))),
        arm === "sluice" ? "" : figure(rate(ours) / rate(run)),
        ...phases(run),
      ];
    });
  });
  const growing = medians(growth);
  return [
    "## Throughput",
    "Pushed → every score read, AI answering at once; the median of the rounds, with the arms in turns. _Ratio_ is sluice's rate over the arm's. " +
      "Handlers run in parallel and wait for each other, so their seconds overlap.",
    table(
      ["", "documents", "documents/s", "ratio", "push s", "finish s", "read s", "fetch s", "queue s", "cron s", "D1 s"],
      rows,
    ),
    "![Documents per second](throughput.svg)",
    "Small runs consist partly of delays: for a fuller delivery (0.1 s) and until the next check for results " +
      "(0.04 s). Their share shrinks with the number of documents:",
    table(
      ["1.5 KB", "documents", "seconds", "documents/s", "ratio"],
      growing.map((run) => {
        const ours = growing.find(({ arm, documents }) => arm === "sluice" && documents === run.documents);
        const ratio = ours === undefined || run.arm === "sluice" ? "" : figure(rate(ours) / rate(run));
        return [run.arm, figure(run.documents), figure(seconds(run)), figure(Math.round(rate(run))), ratio];
      }),
    ),
    `The time grows with the number of documents to the power of ${[...Map.groupBy(growing, ({ arm }) => arm)]
      .map(([arm, runs]) => `${growthExponent(runs).toFixed(2)} (${arm})`)
      .join(", ")}; 1 is linear.`,
    "![Seconds by documents](growth.svg)",
  ].join("\n\n");
}

function phases({ push, finish, read, handlers }: ThroughputRun): string[] {
  return [push, finish, read, handlers.fetch, handlers.queue, handlers.scheduled, handlers.d1].map((value) =>
    value.toFixed(2),
  );
}

function freshness({ counted: { freshness } }: Results): string {
  return [
    "## Freshness",
    "Accepted → queryable on the virtual clock: the real producer, consumer and poller over SQLite, the deployed batch sizes, waits and " +
      "concurrency, cron every minute, Workers AI finishing after the given time, with and without its events. Seconds.",
    table(
      ["documents/s", "per push", "service s", "events", "bulk backlog", "documents", "p50", "p99", "all done after"],
      freshness.map((one) => [
        figure(one.documentsPerSecond),
        figure(one.push),
        figure(one.serviceSeconds),
        one.events ? "on" : "off",
        ...[one.backlog, one.documents].map(figure),
        ...[one.p50, one.p99].map((value) => value.toFixed(1)),
        one.allDone.toFixed(0),
      ]),
    ),
  ].join("\n\n");
}

function poller({ counted: { pollerRuns } }: Results): string {
  return [
    "## One poller run",
    "With open jobs that are all due, or none of them, and jobs that ended long ago. Open jobs are still queued at Workers AI.",
    table(
      ["open", "finished", "due", "D1 calls", "statements", "rows read", "rows written", "AI calls", "ms"],
      pollerRuns.map((run) => [
        figure(run.open),
        figure(run.finished),
        run.due ? "all" : "none",
        ...[run.d1Calls, run.statements, run.rowsRead, run.rowsWritten, run.aiCalls, run.milliseconds].map(figure),
      ]),
    ),
  ].join("\n\n");
}

function memory({ memory }: Results): string {
  return [
    "## Memory",
    "A Worker's heap, read from its inspector every 20 ms. It includes uncollected garbage, and the local runtime collects late.  " +
      "A Worker has 128 MB.",
    table(
      ["", "Worker", "lowest", "peak", "growth", "buffers outside", "samples"],
      memory.map(({ what, worker, lowest, peak, buffers, samples }) => [
        what,
        worker,
        megabytes(lowest),
        megabytes(peak),
        megabytes(peak - lowest),
        megabytes(buffers),
        figure(samples),
      ]),
    ),
  ].join("\n\n");
}

function poison({ counted: { poison } }: Results): string {
  return [
    "## Poison",
    "1,000 documents, some of which make Workers AI refuse any batch that contains them. Poller runs, a minute each, until all good  " +
      `ones have their scores. Bisection is measured; the others are computed from their design, at ${CALLS_PER_RUN} calls per run.`,
    table(
      ["", "bad", "submit calls", "at most", "minutes", "good documents scored"],
      poison.map(({ strategy, bad, calls, bound, minutes, good }) => [
        strategy,
        figure(bad),
        figure(calls),
        bound === null ? "" : figure(bound),
        minutes === null ? "never" : figure(minutes),
        figure(good),
      ]),
    ),
  ].join("\n\n");
}
