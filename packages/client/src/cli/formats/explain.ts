import type { FormatName } from "./formats.ts";
import type { Place, Refusal } from "./format.ts";
import { explainTsv } from "./tsv.ts";

/** What the API says of a document, which it names by pointers into the document, in words of the file it came from. */
export function explain(format: FormatName, place: Place, detail: string): Refusal {
  if (format === "sluice") return { detail: isBody(detail) ? WHOLE_BODY : detail };
  if (format === "tsv") return explainTsv(place, detail);
  const names = NAMES[format];
  const parts = detail
    .split(/; (?=\/)/)
    .map((part) => part.replace(/^\/(id|query|contexts)\b/, (_, name: keyof Names) => names[name]));
  return { detail: parts.join("; ") };
}

/** Whether the API says this of the body of a JSON push, where a document is expected. */
function isBody(detail: string): boolean {
  const parts = detail.split(/; (?=\/)/);
  return (
    parts.some((part) => part.startsWith("/documents: unknown field")) &&
    parts.includes("/query: query must be given") &&
    parts.includes("/contexts: contexts must be given")
  );
}

const WHOLE_BODY =
  "this is the body of a JSON push, not a document: jq -c '.documents[]' gives its documents, a line each";

type Names = Readonly<Record<"id" | "query" | "contexts", string>>;

const NAMES: Readonly<Record<"cohere" | "voyage", Names>> = {
  cohere: { id: "/id", query: "/query", contexts: "/documents" },
  voyage: { id: "/custom_id", query: "/body/query", contexts: "/body/documents" },
};
