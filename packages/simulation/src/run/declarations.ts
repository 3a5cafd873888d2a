/** A function, class, constant or class member in a source text. */
export interface Declaration {
  /** `name`, or `Class.member`. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** The number of enclosing brackets. */
  readonly depth: number;
}

const STARTS = new Set([
  "export",
  "import",
  "async",
  "function",
  "class",
  "abstract",
  "const",
  "let",
  "interface",
  "type",
  "enum",
]);
const DECLARES = new Set(["function", "class", "const", "let"]);
const WORD = /[#\w$]+/y;
const SPACE_OR_COMMENT = /(?:\s+|\/\/[^\n]*|\/\*[^]*?\*\/)+/y;
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y;
const REGEX = /\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
/** A slash after one of these is a division; otherwise it starts a regular expression. */
const ENDS_VALUE = /^(?:[#\w$]+|\)|\]|\}|["'`][^]*)$/;
const KEYWORD_BEFORE_VALUE = new Set([
  "return",
  "typeof",
  "case",
  "in",
  "of",
  "await",
  "yield",
  "throw",
  "new",
  "void",
]);

/** Lists the top-level declarations of a TypeScript text and the members of its classes. Semicolons are required. */
export function declarationsOf(text: string): Declaration[] {
  const tokens = tokensOf(text);
  const found: Declaration[] = [];
  for (const statement of split(tokens, 0, ({ text }) => STARTS.has(text))) {
    const at = statement.findIndex(({ text, depth }) => depth === 0 && DECLARES.has(text));
    const name = statement.slice(at + 1).find(({ text }) => text !== "*")?.text ?? "";
    if (at < 0 || !statement.slice(0, at).every(({ text }) => STARTS.has(text) || text === "default")) continue;
    found.push(spanOf(name, statement));
    if (statement[at]?.text !== "class") continue;
    const body = statement.findIndex(({ text, depth }) => text === "{" && depth === 0);
    for (const member of split(statement.slice(body + 1, -1), 1, isMemberStart)) {
      const behind = member.findIndex(({ text, depth }) => depth === 1 && /^[(=:;<?!]$/.test(text));
      const named = member[behind - 1];
      if (named !== undefined) found.push(spanOf(`${name}.${named.text}`, member));
    }
  }
  return found;
}

function isMemberStart({ text }: Token): boolean {
  return /^[#\w$[*"']/.test(text) && text !== "as" && text !== "satisfies";
}

function spanOf(name: string, tokens: readonly Token[]): Declaration {
  return { name, start: tokens[0]?.start ?? 0, end: tokens.at(-1)?.end ?? 0 };
}

/** Splits tokens where one at `depth` starts a declaration and the previous one has ended one. */
function split(tokens: readonly Token[], depth: number, isStart: (token: Token) => boolean): Token[][] {
  const pieces: Token[][] = [];
  for (const [index, token] of tokens.entries()) {
    const before = tokens[index - 1];
    const isFree = before === undefined || (before.depth === depth && (before.text === ";" || before.text === "}"));
    if (token.depth === depth && isFree && isStart(token)) pieces.push([token]);
    else pieces.at(-1)?.push(token);
  }
  return pieces;
}

/**
 * Splits a text into words, strings, whole templates, regular expressions and single characters, up to the bracket that
 * closes the scope around `start`.
 */
function tokensOf(text: string, start = 0): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const space = match(SPACE_OR_COMMENT, text, at);
    at += space.length;
    if (at >= text.length) break;
    const before = tokens.at(-1)?.text ?? "";
    const isRegex = text[at] === "/" && (!ENDS_VALUE.test(before) || KEYWORD_BEFORE_VALUE.has(before));
    const token =
      text[at] === "`"
        ? text.slice(at, templateEnd(text, at))
        : match(WORD, text, at) || match(STRING, text, at) || (isRegex && match(REGEX, text, at)) || text.charAt(at);
    if (/^[)\]}]$/.test(token)) depth -= 1;
    tokens.push({ text: token, start: at, end: at + token.length, depth });
    if (depth < 0) break;
    if (/^[([{]$/.test(token)) depth += 1;
    at += token.length;
  }
  return tokens;
}

/** Returns the end of the template that starts at `start`. */
function templateEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== "`") {
    if (text[at] === "\\") at += 2;
    else if (text.startsWith("${", at)) at = tokensOf(text, at + 2).at(-1)?.end ?? text.length;
    else at += 1;
  }
  return at + 1;
}

function match(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? "";
}
