import { NOT_UTF8, refused, type Format } from "./format.ts";

/** A document a line, in the API's own form: it goes out as it stands, and the API says what is wrong with it. */
export const sluice: Format = async function* (lines) {
  for await (const { number, text } of lines) {
    if (text === null) yield refused(number, NOT_UTF8);
    else if (text.trim() !== "") yield { kind: "document", first: number, last: number, document: text };
  }
};
