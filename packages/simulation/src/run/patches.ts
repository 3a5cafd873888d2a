import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(import.meta.dirname, "../../../../");

/** A text of the product, in a file named from the repository's root, and what is to stand there instead. */
export interface Replacement {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** How often the text stands there: once, where it is not said. */
  readonly times?: number;
}

/** Replaces texts of the product as it is loaded: nothing on disk changes. */
export class Patches {
  readonly #replacements: readonly Replacement[];
  readonly #applied = new Set<string>();

  constructor(replacements: readonly Replacement[]) {
    this.#replacements = replacements;
  }

  /** A file's text with its replacements. Throws where a text does not stand there as often as it should. */
  readonly apply = (file: string, text: string): string => {
    let patched = text;
    for (const { find, replace, times = 1 } of this.#replacements.filter((one) => one.file === file)) {
      const pieces = patched.split(find);
      if (pieces.length !== times + 1) {
        throw new Error(
          `${file} holds this ${pieces.length - 1} times, not ${times}; change what is to be replaced:\n${find}`,
        );
      }
      patched = pieces.join(replace);
    }
    this.#applied.add(file);
    return patched;
  };

  /** From here on, modules are loaded with their replacements. */
  applyToModules(): void {
    const files = new Set(this.#replacements.map(({ file }) => file));
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

  /** Throws where a file with a replacement was not loaded: what it is to change is not in use any more. */
  assertApplied(): void {
    const missed = this.#replacements.find(({ file }) => !this.#applied.has(file));
    if (missed !== undefined)
      throw new Error(`${missed.file} is not loaded by the simulation: nothing in it was replaced`);
  }
}
