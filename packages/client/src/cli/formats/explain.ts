import type { Location, Refusal } from "./format.ts";
import type { FormatName } from "./formats.ts";
import { explainTsv } from "./tsv.ts";

/** Rewrites an API error, which points into the document, in terms of the source file. */
export function explain(format: FormatName, location: Location, detail: string): Refusal {
  if (format === "sluice") return { detail: isBody(detail) ? WHOLE_BODY : detail };
  if (format === "tsv") return explainTsv(location, detail);
  const names = NAMES[format];
  const parts = detail
    .split(/; (?=\/)/)
    .map((part) => part.replace(/^\/(id|query|contexts)\b/, (_, name: keyof Names) => names[name]));
  return { detail: parts.join("; ") };
}

/** Whether the error shows that a line holds the body of a JSON push instead of a document. */
function isBody(detail: string): boolean {
  const parts = detail.split(/; (?=\/)/);
  return (
    parts.some((part) => part.startsWith("/documents: unknown field")) &&
    parts.includes("/query: query must be given") &&
    parts.includes("/contexts: contexts must be given")
  );
}

const WHOLE_BODY =
  "this is the body of a JSON push, not a document: jq -c '.documents[]' extracts its documents, one per line";

type Names = Readonly<Record<"id" | "query" | "contexts", string>>;

const NAMES: Readonly<Record<"cohere" | "voyage", Names>> = {
  cohere: { id: "/id", query: "/query", contexts: "/documents" },
  voyage: { id: "/custom_id", query: "/body/query", contexts: "/body/documents" },
};
