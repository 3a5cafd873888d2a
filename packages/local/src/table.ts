import * as z from "zod";
import { pad } from "./demo/figures.ts";

type Row = Readonly<Record<string, unknown>>;

const answerSchema = z.array(z.object({ results: z.array(z.record(z.string(), z.unknown())) }));
const errorSchema = z.object({ error: z.object({ text: z.string() }) });

/** What `wrangler d1 execute --json` printed, for a person; `null` where it is something else. */
export function renderAnswer(said: string, widest: number): string | null {
  let value: unknown;
  try {
    value = JSON.parse(said);
  } catch {
    return null;
  }
  const error = errorSchema.safeParse(value);
  if (error.success) return error.data.error.text;
  const answer = answerSchema.safeParse(value);
  return answer.success ? answer.data.map(({ results }) => renderTable(results, widest)).join("\n\n") : null;
}

/** Rows of D1 as lines under each other. A cell that is longer than `widest` characters is cut. */
function renderTable(rows: readonly Row[], widest: number): string {
  const [first] = rows;
  if (first === undefined) return "no rows";
  const names = Object.keys(first);
  const lines = [names, ...rows.map((row) => names.map((name) => cell(row[name])))].map((line) =>
    line.map((text) => (text.length > widest ? `${text.slice(0, widest - 1)}…` : text)),
  );
  const widths = names.map((_, index) => lines.reduce((most, line) => Math.max(most, (line[index] ?? "").length), 0));
  return lines
    .map((line) =>
      line
        .map((text, index) => pad(text, widths[index] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cell(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value ?? null);
  // One row, one line.
  return text.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
}
