import parsePrometheusTextFormat from "parse-prometheus-text-format";

export interface ParsedMetric {
  readonly type: string;
  readonly unit: string | null;
  readonly help: string;
  /** By their labels, as `a=b,c=d`. */
  readonly values: Readonly<Record<string, number>>;
}

const DESCRIPTION = /^# TYPE ([a-z][a-z0-9_]*) (gauge|counter)\n(?:# UNIT \1 (\w+)\n)?# HELP \1 (.+)\n/;
/** Suffixes that belong to samples of a type, and cannot end a metric's name. */
const RESERVED = /_(total|created|count|sum|bucket|info)$/;

/**
 * Parses samples and labels, and checks what OpenMetrics 1.0 requires beyond Prometheus's own format: each metric is
 * described once and in one place, units end names, counters' samples end with `_total`, and `# EOF` is last. Throws
 * otherwise.
 */
export function parseOpenMetrics(text: string): ReadonlyMap<string, ParsedMetric> {
  if (!text.endsWith("\n# EOF\n")) throw new Error("the text does not end with # EOF");
  const metrics = new Map<string, ParsedMetric>();
  for (const block of text.slice(0, -"# EOF\n".length).split(/^(?=# TYPE )/m)) {
    const [described, name = "", type = "", unit = null, help = ""] = DESCRIPTION.exec(block) ?? [];
    if (described === undefined || RESERVED.test(name) || metrics.has(name)) throw new Error(`wrong: ${block}`);
    if (unit !== (/_(seconds|bytes|ratio)$/.exec(name)?.[1] ?? null)) throw new Error(`${name} has the unit ${unit}`);
    const values = samplesOf(block.slice(described.length), type === "counter" ? `${name}_total` : name);
    metrics.set(name, { type, unit, help, values });
  }
  return metrics;
}

function samplesOf(lines: string, name: string): Record<string, number> {
  const values: Record<string, number> = {};
  for (const family of parsePrometheusTextFormat(lines)) {
    if (family.name !== name) throw new Error(`${family.name} is among the samples of ${name}`);
    for (const { labels = {}, value } of family.metrics) {
      const key = Object.entries(labels)
        .map(([label, text]) => `${label}=${text}`)
        .join(",");
      if (Object.hasOwn(values, key)) throw new Error(`${name} has two samples ${key}`);
      if (!/^[0-9.e+]+$/.test(value)) throw new Error(`${name} has the value ${value}`);
      values[key] = Number(value);
    }
  }
  return values;
}
