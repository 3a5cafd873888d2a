import { globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { declarationsOf } from "./declarations.ts";
import { occurrencesOf, type Span } from "./occurrences.ts";

const ROOT = join(import.meta.dirname, "../../../../");
const SOURCES = ["packages/{core,db,inference,pipeline}/src/**/*.ts", "workers/{producer,consumer,poller}/src/**/*.ts"];

/** A snippet of the product, and its replacement. */
export interface Replacement {
  /**
   * The function, class, method (`Class.method`) or constant that contains the snippet, in any file. For other files,
   * such as migrations and configurations, the path from the repository's root, with a slash.
   */
  readonly in: string;
  /** White space is ignored. */
  readonly find: string;
  readonly replace: string;
  /** The number of occurrences, 1 by default. */
  readonly times?: number;
}

interface Edit extends Span {
  readonly file: string;
  readonly replace: string;
}

/** Patches the product's source as it is loaded. Nothing on disk changes. */
export class Patches {
  readonly #edits: readonly Edit[];
  readonly #applied = new Set<string>();

  /** Throws if a snippet does not occur exactly as often as expected. */
  constructor(replacements: readonly Replacement[], sources: ReadonlyMap<string, string> = readSources()) {
    this.#edits = replacements.flatMap((replacement) => editsOf(replacement, sources));
  }

  get files(): ReadonlySet<string> {
    return new Set(this.#edits.map(({ file }) => file));
  }

  /** Returns a file's text with its replacements. */
  readonly apply = (file: string, text: string): string => {
    this.#applied.add(file);
    const edits = this.#edits.filter((edit) => edit.file === file).toSorted((a, b) => b.start - a.start);
    return edits.reduce((patched, { start, end, replace }, index) => {
      if (end > (edits[index - 1]?.start ?? Infinity))
        throw new Error(`two replacements overlap in ${file}:\n${replace}`);
      return patched.slice(0, start) + replace + patched.slice(end);
    }, text);
  };

  /** Applies the replacements to every module loaded from now on. */
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

  /** Throws if a file with a replacement was not loaded, because it is no longer in use. */
  assertApplied(): void {
    const missed = this.#edits.find(({ file }) => !this.#applied.has(file));
    if (missed !== undefined)
      throw new Error(`${missed.file} is not loaded by the simulation, so nothing in it was replaced`);
  }
}

/** Reads the product's source texts by their paths from the repository's root. */
export function readSources(): ReadonlyMap<string, string> {
  return new Map(globSync(SOURCES, { cwd: ROOT }).map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));
}

function editsOf(replacement: Replacement, sources: ReadonlyMap<string, string>): Edit[] {
  const { find, replace, times = 1 } = replacement;
  const places = placesOf(replacement.in, sources);
  if (places.length === 0) throw new Error(`the product declares no ${replacement.in}; update the snippet:\n${find}`);
  const edits = places.flatMap(({ file, text, start }) =>
    occurrencesOf(find, text).map((span) => ({ file, replace, start: start + span.start, end: start + span.end })),
  );
  if (edits.length !== times) {
    throw new Error(
      `${replacement.in} contains this ${edits.length} times, not ${times}; update the snippet:\n${find}\nin ${places.map(({ file }) => file).join(", ")}`,
    );
  }
  return edits;
}

/** Returns the texts that a name or path refers to. */
function placesOf(name: string, sources: ReadonlyMap<string, string>): { file: string; text: string; start: number }[] {
  if (name.includes("/")) return [{ file: name, text: readFileSync(join(ROOT, name), "utf8"), start: 0 }];
  const last = name.split(".").at(-1) ?? name;
  return [...sources].flatMap(([file, text]) =>
    // Few files contain the name. Only those are worth parsing.
    (text.includes(last) ? declarationsOf(text) : [])
      .filter((declaration) => declaration.name === name)
      .map(({ start, end }) => ({ file, text: text.slice(start, end), start })),
  );
}
