import { MAX_LINE_BYTES } from "../../lines.ts";
import { refused, type Format } from "./format.ts";
import { splitValues } from "./values.ts";

const TOO_LONG = `the document has more than ${MAX_LINE_BYTES} bytes as JSON: it may have 1000000`;

/**
 * Documents in the API's own form, one a line or in a list: each goes out as it is, and the API says what
 * is wrong with it.
 */
export const sluice: Format = async function* (lines) {
  for await (const { text, flaw, ...place } of splitValues(lines)) {
    const detail = flaw ?? (text.length > MAX_LINE_BYTES ? TOO_LONG : null);
    if (detail !== null) yield refused(place, detail);
    else yield { kind: "document", ...place, document: text };
  }
};
