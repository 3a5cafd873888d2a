import type { RejectedLine } from "@sluice/client/library";
import { count, oneLine } from "@sluice/client/terminal";

const MAX_LINES = 5;

/** The first few refused lines with their reasons. */
export function refusedLines(refused: readonly RejectedLine[]): string[] {
  const lines = refused.slice(0, MAX_LINES).map(({ line, detail }) => `  line ${line}: ${oneLine(detail)}`);
  return refused.length > MAX_LINES ? [...lines, `  and ${refused.length - MAX_LINES} more`] : lines;
}

export function refusedShortcoming(lines: number): string {
  return lines === 1
    ? "1 line of the file was refused, for the reason above. Fix it and push it in a new file. The accepted documents are unaffected."
    : `${count(lines)} lines of the file were refused, for the reasons above. Fix them and push them in a new file. The accepted documents are unaffected.`;
}
