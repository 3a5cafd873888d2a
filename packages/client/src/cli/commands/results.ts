import type { Document, DocumentStatus } from "../../types.ts";
import { clientOf, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Output } from "../output.ts";
import { bestWords, statusCell } from "../words.ts";

export interface ViewFlags {
  readonly topK?: number;
  readonly include?: readonly ("text" | "metadata")[];
}

export interface ResultsFlags extends ViewFlags {
  readonly status?: DocumentStatus;
}

/** Cells of the table's columns: results come by the thousand and are printed as they come. */
const ID_CELLS = 28;
const STATUS_CELLS = 10;

/** A submission's documents with their best contexts. */
export async function results(cli: Cli, id: string, flags: ResultsFlags): Promise<ExitCode> {
  const list = clientOf(cli).results(id, { ...flags, signal: cli.signal });
  let failed = false;
  const print = cli.out.human ? documentTable(cli.out) : (document: Document) => cli.out.record(document);
  for await (const document of list) {
    failed ||= document.status === "failed" || document.status === "canceled";
    print(document);
  }
  return failed && flags.status === undefined ? EXIT.failed : EXIT.ok;
}

export interface TailFlags extends ViewFlags {
  readonly collection?: string;
  readonly cursor?: string;
  readonly all?: boolean;
}

/** The documents of all submissions, as they end, until Ctrl-C. */
export async function tail(cli: Cli, { all = false, ...flags }: TailFlags): Promise<ExitCode> {
  const feed = clientOf(cli).feed({ ...flags, from: all ? "start" : "now", signal: cli.signal });
  const print = cli.out.human ? documentTable(cli.out) : (document: Document) => cli.out.record(document);
  if (!all && flags.cursor === undefined && cli.out.stderrIsTerminal) {
    cli.out.note(cli.out.noteStyle("What ends from now on, once what ended before is read past:", "dim"));
  }
  try {
    for await (const document of feed) print(document);
  } catch (error) {
    if (!cli.signal.aborted) throw error;
  }
  if (feed.cursor !== null) cli.out.note(`Go on from here: sluice tail --cursor ${feed.cursor}`);
  return EXIT.interrupted;
}

function documentTable(out: Output): (document: Document) => void {
  const columns = [{ title: "DOCUMENT" }, { title: "STATUS" }, { title: "BEST CONTEXT, OR WHY NOT" }];
  let print: ((cells: Parameters<ReturnType<Output["startTable"]>>[0]) => void) | null = null;
  return (document) => {
    print ??= out.startTable(columns, [ID_CELLS, STATUS_CELLS]);
    print([document.id, statusCell(document.status), bestWords(document)]);
  };
}
