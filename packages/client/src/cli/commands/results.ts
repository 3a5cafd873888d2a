import { documentText } from "../../parse-answer.ts";
import type { Document, DocumentStatus } from "../../types.ts";
import { clientOf, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { errorWords } from "../report-error.ts";
import { shellCommand } from "../shell.ts";
import { bestWords, lostOf, lostWords, statusCell } from "../words.ts";

export interface ViewFlags {
  readonly topK?: number;
  readonly include?: readonly ("text" | "metadata")[];
}

export interface ResultsFlags extends ViewFlags {
  readonly status?: DocumentStatus;
}

/** Column widths in cells. They are fixed because thousands of results are printed as they arrive. */
const ID_CELLS = 28;
const STATUS_CELLS = 10;

/** Prints a submission's documents with their best contexts. */
export async function results(cli: Cli, id: string, flags: ResultsFlags): Promise<ExitCode> {
  const client = clientOf(cli);
  const list = client.results(id, { ...flags, signal: cli.signal });
  let failed = false;
  let found = false;
  const print = cli.out.human ? documentTable(cli.out) : documentLines(cli.out);
  for await (const document of list) {
    found = true;
    failed ||= document.status === "failed" || document.status === "canceled";
    print(document);
  }
  if (!found && cli.out.human) {
    const { status } = flags;
    const mayBeLost = status === undefined || status === "failed";
    const lost = mayBeLost ? lostOf(await client.submission(id, { signal: cli.signal })) : 0;
    cli.out.print(lost > 0 ? lostWords(lost) : status === undefined ? NOTHING_RECORDED : nothingThat(status));
  }
  return failed && flags.status === undefined ? EXIT.failed : EXIT.ok;
}

const NOTHING_RECORDED = "No documents are recorded yet.";

function nothingThat(status: DocumentStatus): string {
  return status === "succeeded" || status === "failed" ? `No documents ${status}.` : `No documents are ${status}.`;
}

export interface TailFlags extends ViewFlags {
  readonly collection?: string;
  readonly cursor?: string;
  readonly all?: boolean;
}

/** Prints documents of all submissions as they end, until Ctrl-C. Keeps retrying while the server is away. */
export async function tail(cli: Cli, { all = false, ...flags }: TailFlags): Promise<ExitCode> {
  const { out, signal } = cli;
  let away = false;
  const feed = clientOf(cli, { retries: Infinity }).feed({
    ...flags,
    from: all ? "start" : "now",
    signal,
    onRetry(retry) {
      if (retry === null) out.note(out.noteStyle("The server answers again.", "green"));
      else if (!away)
        out.note(out.noteStyle(`${errorWords(retry.error)} Retrying until the server answers.`, "yellow"));
      away = retry !== null;
    },
  });
  const print = out.human ? documentTable(out) : documentLines(out);
  if (!all && flags.cursor === undefined && out.stderrIsTerminal) {
    out.note(out.noteStyle("Documents that end from now on:", "dim"));
  }
  try {
    for await (const document of feed) print(document);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    // The start cursor is not worth reporting: the caller has it, and it may be invalid.
    if (feed.cursor !== null && feed.cursor !== flags.cursor)
      out.note(`Continue from here: ${shellCommand(["sluice", "tail", "--cursor", feed.cursor])}`);
  }
  return EXIT.interrupted;
}

function documentLines(out: Output): (document: Document) => void {
  return (document) => out.recordText(documentText(document));
}

function documentTable(out: Output): (document: Document) => void {
  const columns = [{ title: "DOCUMENT" }, { title: "STATUS" }, { title: "BEST CONTEXT OR ERROR" }];
  let print: ((cells: Parameters<ReturnType<Output["startTable"]>>[0]) => void) | null = null;
  return (document) => {
    print ??= out.startTable(columns, [ID_CELLS, STATUS_CELLS]);
    print([document.id, statusCell(document.status), bestWords(document)]);
  };
}
