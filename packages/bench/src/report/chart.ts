/** Draws a bar chart as SVG: a group of bars for each label, or one bar each. Widths are proportional to values. */
export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
  /** Drawn in the accent color. */
  readonly ours: boolean;
}

const WIDTH = 720;
const LABEL = 230;
const VALUE = 110;
const ROW = 30;
const TOP = 44;

export function barChart(title: string, bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const height = TOP + bars.length * ROW + 12;
  const rows = bars.map(({ label, value, text, ours }, index) => {
    const y = TOP + index * ROW;
    const width = Math.max(1, ((WIDTH - LABEL - VALUE) * value) / most);
    return [
      `<text x="${LABEL - 10}" y="${y + 15}" text-anchor="end">${escape(label)}</text>`,
      `<rect x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="20" rx="2" fill="${ours ? "#f6821f" : "#9aa5b1"}"/>`,
      `<text x="${(LABEL + width + 8).toFixed(1)}" y="${y + 15}">${escape(text)}</text>`,
    ].join("");
  });
  return svg(height, title, rows);
}

export interface Line {
  readonly label: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly ours: boolean;
}

/** Draws lines over two logarithmic axes: a straight line of slope 1 is linear growth. */
export function logChart(
  title: string,
  axes: { readonly x: string; readonly y: string },
  lines: readonly Line[],
): string {
  const height = 400;
  const [left, right, top, bottom] = [70, WIDTH - 150, TOP + 6, height - 50];
  const points = lines.flatMap((line) => line.points);
  const scale = (values: readonly number[], from: number, to: number) => {
    const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
    const at = (value: number) => from + ((Math.log10(value) - low) / Math.max(1, high - low)) * (to - from);
    return { at, ticks: Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)) };
  };
  const x = scale(
    points.map(([value]) => value),
    left,
    right,
  );
  const y = scale(
    points.map(([, value]) => value),
    bottom,
    top,
  );
  const grid = [
    ...x.ticks.map(
      (tick) =>
        `<line x1="${x.at(tick)}" x2="${x.at(tick)}" y1="${top}" y2="${bottom}" stroke="#d5dbe1"/><text x="${x.at(tick)}" y="${bottom + 18}" text-anchor="middle">${tick.toLocaleString("en")}</text>`,
    ),
    ...y.ticks.map(
      (tick) =>
        `<line x1="${left}" x2="${right}" y1="${y.at(tick)}" y2="${y.at(tick)}" stroke="#d5dbe1"/><text x="${left - 8}" y="${y.at(tick) + 4}" text-anchor="end">${tick.toLocaleString("en")}</text>`,
    ),
    `<text x="${(left + right) / 2}" y="${height - 10}" text-anchor="middle">${escape(axes.x)}</text>`,
    `<text x="${left - 50}" y="${top - 10}">${escape(axes.y)}</text>`,
  ];
  const drawn = lines.map(({ label, points: own, ours }) => {
    const colour = ours ? "#f6821f" : "#5b6875";
    const path = own
      .map(([a, b], index) => `${index === 0 ? "M" : "L"}${x.at(a).toFixed(1)},${y.at(b).toFixed(1)}`)
      .join(" ");
    const [lastX, lastY] = own.at(-1) ?? [1, 1];
    return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2.5"/><text x="${x.at(lastX) + 10}" y="${y.at(lastY) + 4}" fill="${colour}">${escape(label)}</text>`;
  });
  return svg(height, title, [...grid, ...drawn]);
}

function svg(height: number, title: string, content: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="13" fill="#1f2933" role="img">`,
    `<title>${escape(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="16" y="26" font-size="15" font-weight="600">${escape(title)}</text>`,
    ...content,
    "</svg>\n",
  ].join("\n");
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
