/** One value of a metric, with its labels. */
export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric. A counter never falls while its labels stay the same. */
export interface Metric {
  /** Ends with its unit if it has one; without the `_total` of a counter's sample. */
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly unit?: "seconds" | "bytes";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** The media type of `openMetricsText`. */
export const OPEN_METRICS_TYPE = "application/openmetrics-text";
/** It with the version of the format. */
export const OPEN_METRICS_CONTENT = `${OPEN_METRICS_TYPE}; version=1.0.0; charset=utf-8`;

/** Writes metrics in the text format of OpenMetrics 1.0. A metric without samples is described, too. */
export function openMetricsText(metrics: readonly Metric[]): string {
  return `${metrics.flatMap(linesOf).join("\n")}\n# EOF\n`;
}

function linesOf({ name, type, unit, help, samples }: Metric): string[] {
  const suffix = type === "counter" ? "_total" : "";
  return [
    `# TYPE ${name} ${type}`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${escape(help)}`,
    ...samples.map(({ labels = {}, value }) => `${name}${suffix}${labelsText(labels)} ${value}`),
  ];
}

function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
