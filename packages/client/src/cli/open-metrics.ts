/** A value of a metric with its labels. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const SAMPLE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(.)/g;

/** Reads the samples of a text in the OpenMetrics format, without their descriptions. Skips lines that it cannot read. */
export function readSamples(text: string): MetricSample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
    if (name === undefined || value === undefined || Number.isNaN(Number(value))) return [];
    return [{ name, labels: readLabels(labels), value: Number(value) }];
  });
}

function readLabels(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(LABEL)].map(([, name = "", value = ""]) => [
    name,
    value.replaceAll(ESCAPED, (_, character: string) => (character === "n" ? "\n" : character)),
  ]);
  return Object.fromEntries(pairs) as Readonly<Record<string, string>>;
}
