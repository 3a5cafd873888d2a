import { MAX_LINE_BYTES } from "../../lines.ts";
import { refused, type Format } from "./format.ts";
import { splitValues } from "./values.ts";

const TOO_LONG = `the document is larger than ${MAX_LINE_BYTES} bytes as JSON; the limit is 1000000`;

/**
 * Documents in the API's own form, one per line or in a list. Each is sent unchanged, and the API reports its errors.
 */
export const sluice: Format = async function* (lines) {
  for await (const { text, flaw, ...location } of splitValues(lines)) {
    const detail = flaw ?? (text.length > MAX_LINE_BYTES ? TOO_LONG : null);
    if (detail !== null) yield refused(location, detail);
    else yield { kind: "document", ...location, document: text };
  }
};
