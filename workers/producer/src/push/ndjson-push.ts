import { err, memberText, ok, type Result } from "@sluice/core";
import { IdSet, MAX_SET_IDS } from "@sluice/pipeline/document/id-set.ts";
import type { BodyPiece } from "../http/body.ts";
import { parseJson } from "../http/json.ts";
import type { LineProblem } from "../http/problems.ts";
import { acceptDocument, hasMetadata, type AcceptedDocument } from "./accepted.ts";
import { LineSplitter, type Line } from "./lines.ts";
import type { PushOptions } from "./options.ts";
import type { PushItem } from "./push.ts";
import { MAX_REJECTED } from "../shapes/push.ts";

/** A line with a valid document of 1 MB is longer only if it writes plain ASCII as `\u` escapes. */
const MAX_LINE_BYTES = 3_000_000;
/** Problems that are reported for one line. */
const MAX_PROBLEMS = 3;

/** The lines of an NDJSON body, each by itself: accepted ones are yielded, refused ones are counted and listed. */
export class NdjsonPush {
  readonly #options: PushOptions;
  readonly #ids: IdSet;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** Lines that are not blank. */
  lines = 0;
  rejectedCount = 0;
  /** The first 100. */
  readonly rejected: LineProblem[] = [];

  /** `seed`: 32 random bits. */
  constructor(options: PushOptions, seed: number) {
    this.#options = options;
    this.#ids = new IdSet(seed);
  }

  async *read(body: AsyncIterable<BodyPiece>): AsyncGenerator<PushItem> {
    const splitter = new LineSplitter(MAX_LINE_BYTES);
    for await (const piece of body) {
      if ("problem" in piece) {
        yield piece;
        return;
      }
      for (const line of splitter.push(piece)) {
        const accepted = this.#take(line);
        if (accepted !== null) yield accepted;
      }
    }
    for (const line of splitter.end()) {
      const accepted = this.#take(line);
      if (accepted !== null) yield accepted;
    }
  }

  #take(line: Line): AcceptedDocument | null {
    if (line.bytes !== null && isBlank(line.bytes)) return null;
    const index = this.lines;
    this.lines += 1;
    const accepted = this.#check(line, index);
    if (accepted.ok) return accepted.value;
    this.rejectedCount += 1;
    if (this.rejected.length < MAX_REJECTED) this.rejected.push({ line: line.number, detail: accepted.error });
    return null;
  }

  #check(line: Line, index: number): Result<AcceptedDocument, string> {
    if (line.bytes === null)
      return err(`the line has more than ${MAX_LINE_BYTES} bytes: a document may have at most 1000000`);
    let text: string;
    try {
      text = this.#decoder.decode(line.bytes);
    } catch {
      return err("the line is not valid UTF-8");
    }
    const value = parseJson(text);
    if (!value.ok) return err(`the line ${value.error}`);
    const metadata = hasMetadata(value.value) ? memberText(text, "metadata") : null;
    const accepted = acceptDocument(value.value, metadata, index, this.#options);
    if (!accepted.ok) return err(lineDetail(accepted.error));
    const problem = this.#holdId(accepted.value.id);
    return problem === null ? ok(accepted.value) : err(problem);
  }

  #holdId(id: string | null): string | null {
    switch (id === null ? "added" : this.#ids.add(id)) {
      case "added":
        return null;
      case "known":
        return "/id: an earlier line has this id too: ids must be unique in a push";
      case "full":
        return (
          `the push has more than ${MAX_SET_IDS} documents with ids of their own: push this line and those after it ` +
          "in another push"
        );
    }
  }
}

function lineDetail(problems: readonly { readonly pointer: string; readonly detail: string }[]): string {
  const listed = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ pointer, detail }) => (pointer === "" ? detail : `${pointer}: ${detail}`));
  const more = problems.length - listed.length;
  return listed.join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/** Whether a line has nothing but white space of JSON. */
function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
