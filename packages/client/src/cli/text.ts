const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** `12,345` */
export function count(value: number): string {
  return WHOLE.format(value);
}

/** `1 document`, `12,345 documents`; `more` is an irregular plural. */
export function plural(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`;
}

/** With a verb: `1 document has`, `2 documents have`. */
export function pluralVerb(value: number, one: string, [singular, more]: readonly [string, string]): string {
  return `${plural(value, one)} ${value === 1 ? singular : more}`;
}

/** `1.2 MB`, `3.4 GB`; 1 MB is 1,000,000 bytes. */
export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  if (value < 1_000_000) return `${(value / 1_000).toFixed(1)} KB`;
  if (value < 1_000_000_000) return `${(value / 1_000_000).toFixed(1)} MB`;
  return `${(value / 1_000_000_000).toFixed(1)} GB`;
}

const CENTS = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
/** Smallest amount that is shown exactly, in dollars. */
const MIN_DOLLARS = 1e-9;

/** Formats dollars to the cent, and less than a dollar to three digits: `$1,234.50`, `$0.50`, `$0.000456`. */
export function dollars(value: number): string {
  if (value === 0) return "$0";
  if (value >= 0.9995) return `$${CENTS.format(value)}`;
  if (value < MIN_DOLLARS) return "less than $0.000000001";
  const figures = value.toFixed(Math.min(11, 2 - Math.floor(Math.log10(value))));
  return `$${figures.replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}

/** `0.4 s`, `45 s`, `3 min`, `2 h`, `5 d` */
export function duration(milliseconds: number): string {
  if (milliseconds < 9_950) return `${(Math.max(0, milliseconds) / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 6_000) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function ago(time: string, now: number): string {
  return `${duration(now - Date.parse(time))} ago`;
}

export function until(time: string, now: number): string {
  const left = Date.parse(time) - now;
  return left <= 0 ? "now" : `in ${duration(left)}`;
}

const segmenter = new Intl.Segmenter();
/** East Asian wide characters and pictographs take two terminal cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Control and format characters: escape sequences, bidirectional overrides, invisible characters. */
const CONTROL = /[[\p{Cc}\p{Cf}\u2028\u2029]--[\n\t]]+/gv;
const CONTROL_IN_JSON = /[[\p{Cc}\p{Cf}\u2028\u2029]--[\n\r\t]]/gv;

function width(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let cells = 0;
  for (const { segment } of segmenter.segment(text)) cells += WIDE.test(segment) ? 2 : 1;
  return cells;
}

/** Makes untrusted text safe to print on a terminal. Keeps line feeds and tabs. */
export function harmless(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(CONTROL, "�");
}

/** Puts untrusted text on one line, safe to print on a terminal. */
export function oneLine(text: string): string {
  return harmless(text.replaceAll(/\s+/g, " "));
}

/** Makes JSON text safe to print on a terminal without changing its value. */
export function harmlessJson(json: string): string {
  return json.replaceAll(CONTROL_IN_JSON, (character) =>
    Array.from({ length: character.length }, (_, at) => escapeUnit(character.charCodeAt(at))).join(""),
  );
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}

/** Cuts text to a number of cells; adds `…` if it is longer. */
export function fit(text: string, cells: number): string {
  let used = 0;
  let end = 0;
  // Segments are created lazily, so text after the cut costs nothing.
  for (const { segment, index } of segmenter.segment(text)) {
    used += width(segment);
    if (used > cells) return `${text.slice(0, end)}…`;
    if (used < cells) end = index + segment.length;
  }
  return text;
}

export function pad(text: string, cells: number, side: "left" | "right"): string {
  const space = " ".repeat(Math.max(0, cells - width(text)));
  return side === "left" ? `${text}${space}` : `${space}${text}`;
}

export { width };
