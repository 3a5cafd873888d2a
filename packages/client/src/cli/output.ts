import { styleText } from "node:util";
import { fit, harmless, harmlessJson, oneLine, pad, width } from "./text.ts";

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** A destination for output: a terminal, a pipe, or a test. */
export interface Sink {
  write(text: string): boolean;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** A table column. The last column is cut at the terminal's width. A table without titles has no header. */
export interface Column {
  readonly title: string;
  /** May exceed the terminal's width, because users need the exact value. */
  readonly whole?: boolean;
  readonly side?: "left" | "right";
}

/** A table cell: text, and the style applied after it is aligned. */
export type Cell = string | { readonly text: string; readonly style: Style };

const GAP = "  ";

/** Prints a command's answer: tables and sentences for a person, or NDJSON. */
export class Output {
  readonly human: boolean;
  readonly #stdout: Sink;
  readonly #stderr: Sink;

  constructor(stdout: Sink, stderr: Sink, human: boolean) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.human = human;
  }

  get stderrIsTerminal(): boolean {
    return this.#stderr.isTTY === true;
  }

  /** Prints a record for programs, as a line of JSON. */
  record(value: unknown): void {
    this.recordText(JSON.stringify(value));
  }

  /** Prints a record that is already JSON text. */
  recordText(json: string): void {
    this.#stdout.write(`${harmlessJson(json)}\n`);
  }

  /** Prints lines for a person. */
  print(text: string): void {
    this.#stdout.write(`${harmlessBesideStyles(text, this.#stdout)}\n`);
  }

  /** Prints information for a person that is not part of the answer. */
  note(text: string): void {
    this.#stderr.write(`${harmlessBesideStyles(text, this.#stderr)}\n`);
  }

  /** Styles text if stdout is a terminal that supports it. `NO_COLOR` is respected. */
  style(text: string, style: Style): string {
    return styled(text, style, this.#stdout);
  }

  noteStyle(text: string, style: Style): string {
    return styled(text, style, this.#stderr);
  }

  /** Prints the header, then one row at a time. `widths` gives the cells of every column but the last. */
  startTable(columns: readonly Column[], widths: readonly number[]): (cells: readonly Cell[]) => void {
    const all = columns.map((column, index) => Math.max(width(column.title), widths[index] ?? 0));
    const row = (cells: readonly Cell[], style: Style | null) => {
      const texts = cells.map((cell, index) => this.#cell(cell, columns[index], all, index, style));
      this.print(texts.join(GAP).trimEnd());
    };
    const titles = columns.map(({ title }) => title);
    if (titles.some((title) => title !== "")) row(titles, "dim");
    return (cells) => row(cells, null);
  }

  table(columns: readonly Column[], rows: readonly (readonly Cell[])[]): void {
    const widths = columns.map((_, index) => Math.max(0, ...rows.map((row) => width(textOf(row[index])))));
    const print = this.startTable(columns, widths);
    for (const row of rows) print(row);
  }

  /** Prints the fields of one thing, each with its name. */
  facts(rows: readonly (readonly [name: string, fact: string])[]): void {
    this.table([{ title: "" }, { title: "", whole: true }], rows);
  }

  #cell(cell: Cell, column: Column | undefined, widths: readonly number[], index: number, style: Style | null): string {
    const last = index === widths.length - 1;
    const before = widths.slice(0, index).reduce((sum, one) => sum + one + GAP.length, 0);
    const cut = last && column?.whole !== true && (this.#stdout.columns ?? 0) > 0;
    const room = cut ? Math.max(12, (this.#stdout.columns ?? 0) - before) : Infinity;
    const text = fit(textOf(cell), Math.min(last ? Infinity : (widths[index] ?? 0), room));
    const side = column?.side ?? "left";
    const padded = last && side === "left" ? text : pad(text, Math.min(widths[index] ?? 0, room), side);
    const wanted = typeof cell === "string" ? style : cell.style;
    return wanted === null || padded.trim() === "" ? padded : this.style(padded, wanted);
  }
}

function textOf(cell: Cell | undefined): string {
  if (cell === undefined) return "";
  return oneLine(typeof cell === "string" ? cell : cell.text);
}

const ESCAPE = "\u001B";
/** The escape sequences that `styled` writes, and no others. */
const STYLE_SEQUENCE = new RegExp(`(${ESCAPE}\\[(?:1|2|22|31|32|33|36|39)m)`);

/** Makes text safe to print. Keeps styles if the sink supports them. */
function harmlessBesideStyles(text: string, sink: Sink): string {
  if (styled("x", "bold", sink) === "x") return harmless(text);
  const pieces = text.split(STYLE_SEQUENCE);
  return pieces.map((piece, index) => (index % 2 === 1 ? piece : harmless(piece))).join("");
}

function styled(text: string, style: Style, sink: Sink): string {
  // Only Node's own streams report whether they support colors.
  const stream = sink === process.stdout ? process.stdout : sink === process.stderr ? process.stderr : null;
  return stream === null ? text : styleText(style, text, { stream });
}
