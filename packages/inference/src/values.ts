/** An object in an answer with unknown fields. */
export type Fields = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Maximum levels of `result` around the content of an answer. */
export const MAX_NESTING = 3;

/** Maximum length of a stored service message, in UTF-16 units. */
const MAX_MESSAGE_LENGTH = 500;

/** Normalizes a service message so that D1 stores it exactly: bounded, well-formed, one line, no control characters. */
export function boundedMessage(text: string): string {
  // Twice the length is enough: white space collapses, and the rest is cut.
  const line = text
    .slice(0, MAX_MESSAGE_LENGTH * 2)
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  const cut = line.length > MAX_MESSAGE_LENGTH || text.length > MAX_MESSAGE_LENGTH * 2;
  if (!cut) return line.toWellFormed();
  return `${line.slice(0, MAX_MESSAGE_LENGTH - 1).replace(/[\ud800-\udbff]$/, "")}…`.toWellFormed();
}

/** An index in an answer, a number or its decimal digits; -1 for anything else. */
export function toIndex(value: unknown): number {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 ? value : -1;
  if (typeof value === "string" && /^(?:0|[1-9]\d{0,8})$/.test(value)) return Number(value);
  return -1;
}
