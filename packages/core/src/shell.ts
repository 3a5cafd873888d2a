const encoder = new TextEncoder();

/** Words that every shell takes as they are. zsh expands one that begins with `=`. */
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/;
/** Characters that a terminal obeys, hides or changes when the line is copied. */
const HIDDEN = /[\p{Cc}\p{Cf}\u2028\u2029]|[^\S ]| {2}/u;

/** A word as a POSIX shell reads it back, unchanged and without expanding anything. */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text;
  // Dash has no $'…'; bash, zsh, ksh and BusyBox do, as POSIX does since 2024.
  if (HIDDEN.test(text)) return `$'${text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029'\\]|\s/gu, escapeBytes)}'`;
  if (text.includes("'") && !/["$`\\!]/.test(text)) return `"${text}"`;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** In octal, since a digit behind a hexadecimal escape would be read as a part of it. */
function escapeBytes(character: string): string {
  return [...encoder.encode(character)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

/**
 * A command line to copy: `words` are the command and its options, `positionals` what it acts on. They follow `--`,
 * since any of them may begin with `-`.
 */
export function shellCommand(words: readonly string[], positionals: readonly string[] = []): string {
  return [...words, ...(positionals.length === 0 ? [] : ["--", ...positionals])].map(shellWord).join(" ");
}
