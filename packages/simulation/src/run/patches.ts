import { globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { declarationsOf } from "./declarations.ts";
import { occurrencesOf, type Span } from "./occurrences.ts";

const ROOT = join(import.meta.dirname, "../../../../");
const SOURCES = ["packages/{core,db,inference,pipeline}/src/**/*.ts", "workers/{producer,consumer,poller}/src/**/*.ts"];

/** A snippet of the product, and the text that takes its place. */
export interface Replacement {
  /**
   * The function, class, method (`Class.method`) or constant that holds the snippet, in whichever file that is. A path
   * from the repository's root, with a slash, for a file of another kind: a migration or a configuration.
   */
  readonly in: string;
  /** White space in it does not matter. */
  readonly find: string;
  readonly replace: string;
  /** How many occurrences there are: one, unless given. */
  readonly times?: number;
}

interface Edit extends Span {
  readonly file: string;
  readonly replace: string;
}

/** Replaces texts of the product as it is loaded: nothing on disk changes. */
export class Patches {
  readonly #edits: readonly Edit[];
  readonly #applied = new Set<string>();

  /** Throws if a snippet is not found exactly as often as it should be. */
  constructor(replacements: readonly Replacement[], sources: ReadonlyMap<string, string> = readSources()) {
    this.#edits = replacements.flatMap((replacement) => editsOf(replacement, sources));
  }

  get files(): ReadonlySet<string> {
    return new Set(this.#edits.map(({ file }) => file));
  }

  /** A file's text with its replacements. */
  readonly apply = (file: string, text: string): string => {
    this.#applied.add(file);
    const edits = this.#edits.filter((edit) => edit.file === file).toSorted((a, b) => b.start - a.start);
    return edits.reduce((patched, { start, end, replace }, index) => {
      if (end > (edits[index - 1]?.start ?? Infinity))
        throw new Error(`two replacements overlap in ${file}:\n${replace}`);
      return patched.slice(0, start) + replace + patched.slice(end);
    }, text);
  };

  /** From here on, modules are loaded with their replacements. */
  applyToModules(): void {
    const { files } = this;
    registerHooks({
      load: (url, context, nextLoad) => {
        const loaded = nextLoad(url, context);
        const file = url.startsWith("file:") ? fileURLToPath(url).replace(ROOT, "") : "";
        if (!files.has(file) || loaded.source == null) return loaded;
        const text = typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source);
        return { ...loaded, source: this.apply(file, text) };
      },
    });
  }

  /** Throws if a file with a replacement was not loaded: it is not in use any more. */
  assertApplied(): void {
    const missed = this.#edits.find(({ file }) => !this.#applied.has(file));
    if (missed !== undefined)
      throw new Error(`${missed.file} is not loaded by the simulation: nothing in it was replaced`);
  }
}

/** The product's source texts by their paths from the repository's root. */
export function readSources(): ReadonlyMap<string, string> {
  return new Map(globSync(SOURCES, { cwd: ROOT }).map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));
}

function editsOf(replacement: Replacement, sources: ReadonlyMap<string, string>): Edit[] {
  const { find, replace, times = 1 } = replacement;
  const places = placesOf(replacement.in, sources);
  if (places.length === 0)
    throw new Error(`the product declares no ${replacement.in}; update what is to be replaced:\n${find}`);
  const edits = places.flatMap(({ file, text, start }) =>
    occurrencesOf(find, text).map((span) => ({ file, replace, start: start + span.start, end: start + span.end })),
  );
  if (edits.length !== times) {
    throw new Error(
      `${replacement.in} holds this ${edits.length} times, not ${times}; update what is to be replaced:\n${find}\nin ${places.map(({ file }) => file).join(", ")}`,
    );
  }
  return edits;
}

/** The texts that a name or path stands for. */
function placesOf(name: string, sources: ReadonlyMap<string, string>): { file: string; text: string; start: number }[] {
  if (name.includes("/")) return [{ file: name, text: readFileSync(join(ROOT, name), "utf8"), start: 0 }];
  const last = name.split(".").at(-1) ?? name;
  return [...sources].flatMap(([file, text]) =>
    // Few files hold the name at all: only those are worth a scan.
    (text.includes(last) ? declarationsOf(text) : [])
      .filter((declaration) => declaration.name === name)
      .map(({ start, end }) => ({ file, text: text.slice(start, end), start })),
  );
}
