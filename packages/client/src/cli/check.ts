import {
  DEFAULT_MODEL,
  measureDocument,
  memberText,
  parseDocument,
  type Document,
  type ModelName,
  type SerializedDocument,
} from "@sluice/core";
import type { Entry } from "./formats/index.ts";

/** A document as the API would accept it, or the reason it would refuse it. */
export type Checked =
  | { readonly ok: true; readonly document: Document; readonly serialized: SerializedDocument }
  | { readonly ok: false; readonly detail: string };

/** Checks documents with the API's own rules, including duplicate ids, without calling the API. */
export class Checker {
  readonly #model: ModelName;
  readonly #truncateInputs: boolean;
  readonly #ids = new Set<string>();

  constructor(options: { readonly model?: string | undefined; readonly truncateInputs: boolean }) {
    // The API refuses a push with an unknown model as a whole.
    this.#model = (options.model ?? DEFAULT_MODEL) as ModelName;
    this.#truncateInputs = options.truncateInputs;
  }

  check(entry: Entry): Checked {
    if (entry.kind === "refused") return { ok: false, detail: entry.detail };
    const text = typeof entry.document === "string" ? entry.document : JSON.stringify(entry.document);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return { ok: false, detail: "the line is not valid JSON" };
    }
    const rules = { model: this.#model, truncateInputs: this.#truncateInputs };
    const parsed = parseDocument(value, memberText(text, "metadata"), rules);
    if (!parsed.ok)
      return {
        ok: false,
        detail: parsed.error
          .map(({ pointer, detail }) => (pointer === "" ? detail : `${pointer}: ${detail}`))
          .join("; "),
      };
    const { id } = parsed.value;
    const serialized = measureDocument(parsed.value);
    if (!serialized.ok) return { ok: false, detail: serialized.error.detail };
    if (id !== null && this.#ids.has(id))
      return { ok: false, detail: "/id: this id is already used on an earlier line" };
    if (id !== null) this.#ids.add(id);
    return { ok: true, document: parsed.value, serialized: serialized.value };
  }
}
