const encoder = new TextEncoder();

/** Words that every shell reads unchanged. zsh expands a word that begins with `=`. */
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/;
/** Characters that a terminal interprets, hides or changes when the line is copied. */
const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]|[^\S ]| {2}/u;

/** Quotes a word so that a POSIX shell reads it back unchanged, without expansion. */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text;
  // dash has no $'…', but bash, zsh, ksh, BusyBox and POSIX 2024 do.
  if (HIDDEN.test(text)) return `$'${text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029'\\]|\s/gu, escapeBytes)}'`;
  if (text.includes("'") && !/["$`\\!]/.test(text)) return `"${text}"`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Octal, because a digit after a hexadecimal escape would become part of it. */
function escapeBytes(character: string): string {
  return [...encoder.encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

/**
 * Formats a command line to copy: `words` are the command and its options, `positionals` its operands. They follow `--`,
 * because any of them may begin with `-`.
 */
export function shellCommand(words: readonly string[], positionals: readonly string[] = []): string {
  return [...words, ...(positionals.length === 0 ? [] : ["--", ...positionals])].map(shellWord).join(" ");
}
