import { fit, oneLine, pad, width } from "@sluice/client/terminal";
import * as z from "zod";

type Row = Readonly<Record<string, unknown>>;

const answerSchema = z.array(z.object({ results: z.array(z.record(z.string(), z.unknown())) }));
const errorSchema = z.object({ error: z.object({ text: z.string() }) });

/** Formats the output of `wrangler d1 execute --json` for a person; `null` if it has another form. */
export function renderAnswer(said: string, maxWidth: number): string | null {
  const value = parse(said);
  const error = errorSchema.safeParse(value);
  if (error.success) return error.data.error.text;
  return (
    readRows(value)
      ?.map((rows) => renderTable(rows, maxWidth))
      .join("\n\n") ?? null
  );
}

/** The rows of each statement in the output of `wrangler d1 execute --json`; `null` if it has another form. */
export function readAnswer(said: string): (readonly Row[])[] | null {
  const value = parse(said);
  return value === undefined ? null : readRows(value);
}

function readRows(value: unknown): (readonly Row[])[] | null {
  const answer = answerSchema.safeParse(value);
  return answer.success ? answer.data.map(({ results }) => results) : null;
}

function parse(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return undefined;
  }
}

/** Formats D1 rows as a table. A cell wider than `maxWidth` terminal cells is cut. */
function renderTable(rows: readonly Row[], maxWidth: number): string {
  const [first] = rows;
  if (first === undefined) return "no rows";
  const names = Object.keys(first);
  const lines = [names.map(cell), ...rows.map((row) => names.map((name) => cell(row[name])))].map((line) =>
    line.map((text) => fit(text, maxWidth)),
  );
  const widths = names.map((_, index) => lines.reduce((most, line) => Math.max(most, width(line[index] ?? "")), 0));
  return lines
    .map((line) =>
      line
        .map((text, index) => pad(text, widths[index] ?? 0, "left"))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cell(value: unknown): string {
  return oneLine(typeof value === "string" ? value : JSON.stringify(value ?? null));
}
