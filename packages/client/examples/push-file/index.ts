import { createReadStream } from "node:fs";
import { readDocuments, Sluice } from "@sluice/client";

/** Pushes an NDJSON file, waits until its documents have ended, and prints each document's best context. */

const [file = "documents.ndjson"] = process.argv.slice(2);
const sluice = new Sluice({
  url: process.env["SLUICE_URL"] ?? "http://127.0.0.1:8787",
  key: process.env["SLUICE_API_KEY"] ?? "",
});

// Node's readline also ends lines at U+2028 and U+2029, which JSON strings may contain. readDocuments does not.
const pushed = await sluice.push(readDocuments(createReadStream(file)));
for (const { line, detail } of pushed.rejected) console.error(`document ${line}: ${detail}`);
let failed = pushed.rejectedCount > 0;
for (const { id } of pushed.submissions) {
  await sluice.wait(id);
  for await (const document of sluice.results(id, { topK: 1, include: ["text"] })) {
    const [best] = document.scores;
    if (best !== undefined) console.log(`${document.id}\t${best.score.toFixed(3)}\t${best.text ?? ""}`);
    else failed = true;
  }
}
process.exitCode = failed ? 1 : 0;
