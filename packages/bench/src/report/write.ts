import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ArmName } from "../arms/arm.ts";
import { medianRun, medians, rate, seconds } from "../measures/throughput.ts";
import { capacityChart } from "./capacity.ts";
import { barChart, logChart } from "./chart.ts";
import { dollarsPerMillion } from "./cost.ts";
import { toMarkdown } from "./markdown.ts";
import type { Results } from "./results.ts";

const FOLDER = join(import.meta.dirname, "../..");
const COMPARED_SHAPE = "1.5 KB";

/** The results that were written last. */
export function readResults(): Results {
  return JSON.parse(readFileSync(join(FOLDER, "results.json"), "utf8")) as Results;
}

/** Writes `RESULTS.md`, `results.json` and the charts. */
export function writeResults(results: Results): void {
  const write = (file: string, text: string) => writeFileSync(join(FOLDER, file), text);
  write("results.json", `${JSON.stringify(results, null, 2)}\n`);
  write("RESULTS.md", `${toMarkdown(results)}\n`);
  write("throughput.svg", throughputChart(results));
  write("growth.svg", growthChart(results));
  write("capacity.svg", capacityChart(results.counted.capacity));
  write("costs.svg", costChart(results));
}

function throughputChart({ throughput: { compared } }: Results): string {
  const runs = compared.filter(({ shape }) => shape === COMPARED_SHAPE);
  const names = [...new Set(runs.map(({ arm }) => arm))];
  const bars = names.flatMap((arm: ArmName) => {
    const run = medianRun(runs.filter((one) => one.arm === arm));
    if (run === undefined) return [];
    const value = Math.round(rate(run));
    return [{ label: arm, value, text: `${value.toLocaleString("en")} documents/s`, ours: arm === "sluice" }];
  });
  return barChart("Pushed → queryable, documents of 1.5 KB", bars);
}

function growthChart({ throughput: { growth } }: Results): string {
  const lines = [...Map.groupBy(medians(growth), ({ arm }) => arm)].map(([arm, runs]) => ({
    label: arm,
    ours: arm === "sluice",
    points: runs.map((run) => [run.documents, seconds(run)] as const),
  }));
  return logChart("Time by number of documents of 1.5 KB", { x: "documents", y: "seconds" }, lines);
}

function costChart({ counted: { usages } }: Results): string {
  const bars = usages
    .filter(({ arm, polls }) => arm !== "floor" && (polls === 10 || polls === 0))
    .map((usage) => {
      const value = dollarsPerMillion(usage);
      return { label: `${usage.arm}, ${usage.way}`, value, text: `$${value.toFixed(2)}`, ours: usage.arm === "sluice" };
    });
  return barChart("Dollars per million documents, ten polls, without tokens", bars);
}
