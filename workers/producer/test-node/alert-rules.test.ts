import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { metricsText, type MetricsFacts } from "../src/shapes/metrics.ts";
import { parseOpenMetrics } from "../test/open-metrics.ts";

const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");

const duration = z.string().regex(/^\d+[smhd]$/);
const rulesSchema = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Sluice[A-Za-z]+$/),
          expr: z.string(),
          for: duration,
          labels: z.strictObject({ severity: z.enum(["page", "ticket"]) }),
          annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
        }),
      ),
    }),
  ),
});
const configurationSchema = z.strictObject({
  global: z.strictObject({ scrape_interval: duration, scrape_timeout: duration, evaluation_interval: duration }),
  rule_files: z.tuple([z.literal("alerts.yml")]),
  scrape_configs: z.tuple([
    z.strictObject({
      job_name: z.string(),
      scheme: z.literal("https"),
      metrics_path: z.literal("/metrics"),
      // Never the key itself.
      authorization: z.strictObject({ type: z.literal("Bearer"), credentials_file: z.string() }),
      static_configs: z.array(
        z.strictObject({ targets: z.array(z.string()), labels: z.record(z.string(), z.string()) }),
      ),
    }),
  ]),
});

const rules = rulesSchema.parse(parse(read("alerts.yml"))).groups.flatMap((group) => group.rules);

/** A selector of an expression: a metric, and the labels it names. */
interface Selector {
  readonly metric: string;
  readonly matchers: readonly (readonly [label: string, operator: string, value: string])[];
}

/** The selectors of an expression. Throws if it is not PromQL. */
function selectorsOf(expression: string): Selector[] {
  const selectors: Selector[] = [];
  parser.parse(expression).iterate({
    enter({ type, from, to, node }) {
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expression}`);
      if (type.name !== "VectorSelector") return;
      const text = expression.slice(from, to);
      const name = node.getChild("Identifier");
      const metric = name === null ? "" : expression.slice(name.from, name.to);
      const matchers = [...text.matchAll(/(\w+)\s*(=~|=)\s*"([^"]*)"/g)];
      selectors.push({
        metric,
        matchers: matchers.map(([, label = "", operator = "", value = ""]) => [label, operator, value]),
      });
    },
  });
  return selectors;
}

/** Facts in which every metric has a sample with each of its labels. */
const facts: MetricsFacts = {
  now: 10_000,
  lanes: [
    { lane: "bulk", total: 1, recorded: 1, succeeded: 0, failed: 0, canceled: 0, lost: 0, oldestOpenAt: 1 },
    { lane: "interactive", total: 1, recorded: 0, succeeded: 0, failed: 0, canceled: 0, lost: 0, oldestOpenAt: 1 },
  ],
  queues: [{ lane: "bulk", messages: 1, bytes: 1, oldestAt: 1 }],
  endedJobs: { ended: 1, tokens: 1, unconfirmed: 1, repeated: 1 },
  openJobs: [{ status: "dispatched", count: 1, firstDispatchedAt: 1 }],
  failures: [{ code: "model_error", count: 1 }],
  stalled: { submissions: 1, documents: 1, since: 1 },
  malformed: 1,
  pauses: [{ scope: "model:m", reason: "configuration", message: null, since: 1, until: null }],
  lastRunAt: 1,
  upkeep: {
    size: { id: 1, bytes: 1, level: "full", since: 1, measuredAt: 1, limit: 1 },
    retention: [{ task: "texts", cursor: null, startedAt: 1, endedAt: 1, deleted: 1 }],
    rows: [{ worker: "consumer", rowsRead: 1, rowsWritten: 1 }],
    alerts: [{ name: "jobs_stuck", since: 1 }],
  },
};

/** Each name with the labels of its samples, as Prometheus stores them. */
const stored = new Map(
  [...parseOpenMetrics(metricsText(facts))].map(([name, { type, values }]) => [
    type === "counter" ? `${name}_total` : name,
    Object.keys(values).map((key) => `,${key},`),
  ]),
);

it("every metric has a sample, so that the rules are compared with all of them", () => {
  expect([...stored].filter(([, samples]) => samples.length === 0).map(([name]) => name)).toEqual([]);
});

it("the example configuration scrapes /metrics with a key from a file and loads the rules", () => {
  const {
    scrape_configs: [sluice],
  } = configurationSchema.parse(parse(read("prometheus.yml")));
  const jobs = rules.flatMap(({ expr }) => selectorsOf(expr)).flatMap(({ matchers }) => matchers);
  expect(jobs.filter(([label]) => label === "job").map(([, , value]) => value)).toContain(sluice.job_name);
});

it.each(rules.map((rule) => [rule.alert, rule] as const))(
  "%s is PromQL over metrics and labels that exist",
  (_, rule) => {
    const selectors = selectorsOf(rule.expr);
    expect(selectors.length).toBeGreaterThan(0);
    for (const { metric, matchers } of selectors) {
      // Written by Prometheus itself, for each target.
      if (metric === "up") continue;
      expect([...stored.keys()]).toContain(metric);
      for (const [label, operator, value] of matchers) {
        const values = operator === "=~" ? value.split("|") : [value];
        for (const one of values)
          expect(
            stored.get(metric)?.some((sample) => sample.includes(`,${label}=${one},`)),
            `${label}=${one}`,
          ).toBe(true);
      }
    }
  },
);

it("an expression that is not PromQL is found", () => {
  expect(() => selectorsOf("sluice_poller_age_seconds > ")).toThrow("not PromQL");
  expect(() => selectorsOf("sum(sluice_documents{lane=bulk})")).toThrow("not PromQL");
  expect(selectorsOf('rate(a{b="c"}[5m]) or d')).toEqual([
    { metric: "a", matchers: [["b", "=", "c"]] },
    { metric: "d", matchers: [] },
  ]);
});

it("every rule has its own name and an entry in the runbook", () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  const headings = [...read("README.md").matchAll(/^#+ (.+)$/gm)].map(
    ([, heading = ""]) =>
      `README.md#${heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, "")
        .replaceAll(" ", "-")}`,
  );
  for (const { annotations } of rules) expect(headings).toContain(annotations.runbook);
});
