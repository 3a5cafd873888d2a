import { boundedMessage, isRecord, type Fields } from "./values.ts";

/** The facts read from a failed call, before it is classified. */
export interface FailureSigns {
  /** The service's own code: 1000 to 99999. */
  readonly code: number | null;
  /** An HTTP status of 400 to 599, from the answer or its text. */
  readonly status: number | null;
  /** `""` if there is no message. */
  readonly message: string;
  readonly retryAfterSeconds: number | null;
  readonly answerTooLarge: boolean;
}

export const NO_SIGNS: FailureSigns = {
  code: null,
  status: null,
  message: "",
  retryAfterSeconds: null,
  answerTooLarge: false,
};

/** Maximum characters of a text that are read: the rest adds nothing. */
const MAX_TEXT_LENGTH = 20_000;
const MAX_ERROR_NESTING = 4;
const MAX_RETRY_AFTER_SECONDS = 86_400;

const CODE_FIELDS = ["internalCode", "internal_code", "code", "errorCode", "error_code"];
const STATUS_FIELDS = ["status", "httpCode", "http_code", "statusCode", "status_code"];
const WORD_FIELDS = ["message", "description", "detail", "reason"];
const RETRY_FIELDS = ["retryAfter", "retry_after", "retryAfterSeconds", "retry_after_seconds"];
const NESTED_FIELDS = ["errors", "error", "result"];

/**
 * Reads a thrown value, a returned `{ success: false }`, an error field of any form, or the text of a body. Never
 * throws.
 */
export function signsOf(value: unknown, depth = 0): FailureSigns {
  if (typeof value === "string") return signsOfText(value, depth);
  if (value instanceof Error) return signsOfError(value, depth);
  if (depth > MAX_ERROR_NESTING) return NO_SIGNS;
  if (Array.isArray(value)) {
    const all = value.slice(0, 20).map((entry) => signsOf(entry, depth + 1));
    return all.find((signs) => signs.code !== null) ?? all.find((signs) => signs.message !== "") ?? NO_SIGNS;
  }
  return isRecord(value) ? signsOfFields(value, depth) : NO_SIGNS;
}

/** Fills the gaps of `first` from `second`. */
function mergeSigns(first: FailureSigns, second: FailureSigns): FailureSigns {
  return {
    code: first.code ?? second.code,
    status: first.status ?? second.status,
    message: first.message || second.message,
    retryAfterSeconds: first.retryAfterSeconds ?? second.retryAfterSeconds,
    answerTooLarge: first.answerTooLarge || second.answerTooLarge,
  };
}

function signsOfError(error: Error, depth: number): FailureSigns {
  // V8 quotes the body in this message, and bodies must not be repeated.
  if (error.name === "SyntaxError") {
    return { ...NO_SIGNS, message: "Workers AI answered with something that is not JSON." };
  }
  const { code, status, retryAfterSeconds } = numbersOf(error as unknown as Fields);
  return mergeSigns({ ...NO_SIGNS, code, status, retryAfterSeconds }, signsOfText(error.message, depth));
}

function signsOfFields(fields: Fields, depth: number): FailureSigns {
  let signs: FailureSigns = { ...NO_SIGNS, ...numbersOf(fields) };
  for (const name of WORD_FIELDS) {
    if (typeof fields[name] === "string") signs = mergeSigns(signs, signsOfText(fields[name], depth + 1));
  }
  for (const name of NESTED_FIELDS) {
    if (fields[name] !== undefined) signs = mergeSigns(signs, signsOf(fields[name], depth + 1));
  }
  return signs;
}

function numbersOf(fields: Fields): Pick<FailureSigns, "code" | "status" | "retryAfterSeconds"> {
  let code: number | null = null;
  let status: number | null = null;
  for (const name of CODE_FIELDS) {
    const number = toNumber(fields[name]);
    code ??= asCode(number);
    status ??= asStatus(number);
  }
  for (const name of STATUS_FIELDS) status ??= asStatus(toNumber(fields[name]));
  const retryAfterSeconds = RETRY_FIELDS.map((name) => asRetryAfter(toNumber(fields[name]))).find(
    (hint) => hint !== null,
  );
  return { code, status, retryAfterSeconds: retryAfterSeconds ?? null };
}

function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
}

/** The DOMException of an abort has its own `code` (20), which is too small to be one of the service's. */
function asCode(number: number): number | null {
  return Number.isInteger(number) && number >= 1000 && number <= 99_999 ? number : null;
}

function asStatus(number: number): number | null {
  return Number.isInteger(number) && number >= 400 && number <= 599 ? number : null;
}

function asRetryAfter(seconds: number): number | null {
  return seconds >= 0 ? Math.min(Math.ceil(seconds), MAX_RETRY_AFTER_SECONDS) : null;
}

/** The binding throws `code: message`, with one or more `AiError: ` in front if a service is in between. */
const CODED_TEXT = /^(?:\w{0,40}Error: ?){0,5}(\d{3,5}): ?(.*)$/s;
/** The plain text of Cloudflare's edge. */
const EDGE_TEXT = /^error code: (\d{3,4})$/i;
const RETRY_HINT =
  /(?:retry[ _-]after|(?:try|retry)(?: again)? in)\W{0,4}(\d{1,7}(?:\.\d{1,3})?) ?(ms|millis|s|sec|min|m|h)?/i;
const HINT_UNITS: Readonly<Record<string, number>> = {
  ms: 0.001,
  millis: 0.001,
  s: 1,
  sec: 1,
  m: 60,
  min: 60,
  h: 3600,
};

function signsOfText(whole: string, depth: number): FailureSigns {
  const text = whole.slice(0, MAX_TEXT_LENGTH).trim();
  if (text.startsWith("<")) return signsOfPage(text);
  if ((text.startsWith("{") || text.startsWith("[")) && depth <= MAX_ERROR_NESTING) {
    const value = parseJson(text);
    // The binding throws a body with an unexpected form unchanged, as an error's message.
    if (value !== undefined) return signsOf(value, depth + 1);
  }
  const message = boundedMessage(text);
  const [, hint, unit] = RETRY_HINT.exec(message) ?? [];
  const retryAfterSeconds = asRetryAfter(Number(hint) * (HINT_UNITS[unit?.toLowerCase() ?? "s"] ?? 1));
  const [, digits, words] = CODED_TEXT.exec(message) ?? EDGE_TEXT.exec(message) ?? [];
  const number = Number(digits);
  return {
    ...NO_SIGNS,
    code: asCode(number),
    status: asStatus(number),
    // The binding writes "undefined" for a body without a message or a code.
    message: isWordless(words ?? message) ? "" : message,
    retryAfterSeconds,
  };
}

function isWordless(words: string): boolean {
  return /^(?:undefined|null)?(?:: ?(?:undefined|null)?)?$/.test(words);
}

/**
 * Statuses that an intermediate page reports reliably. A 403 or 404 page says nothing about the account, the model or a
 * batch.
 */
function isTrustedOfPage(status: number): boolean {
  return status >= 500 || status === 408 || status === 413 || status === 429;
}

function signsOfPage(page: string): FailureSigns {
  const title = boundedMessage(/<title>([^<]{1,200})/i.exec(page)?.[1] ?? "");
  const status = Number(/\b[45]\d\d\b/.exec(title)?.[0]);
  const message = `Workers AI answered with a web page${title === "" ? "" : `: ${title}`}.`;
  return { ...NO_SIGNS, status: isTrustedOfPage(status) ? status : null, message };
}

/** Signs of an HTTP answer of 400 and above. */
export function signsOfHttp(status: number, retryAfter: string | null, body: string): FailureSigns {
  const signs = signsOf(body);
  const isPage = body.trimStart().startsWith("<");
  const own = {
    status: isPage && !isTrustedOfPage(status) ? null : asStatus(status),
    retryAfterSeconds: null as number | null,
  };
  // The other form of the header is a date, which needs a clock.
  if (retryAfter !== null && /^\d{1,7}$/.test(retryAfter)) own.retryAfterSeconds = asRetryAfter(Number(retryAfter));
  return mergeSigns({ ...NO_SIGNS, ...own }, signs);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
