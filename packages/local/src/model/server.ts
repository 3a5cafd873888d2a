import { createServer } from "node:http";
import { openMinilm } from "./embedding.ts";
import { answer } from "./routes.ts";
import { Scorer } from "./scorer.ts";

/**
 * The model process: `node server.ts`. Prints `{"listening":PORT}` and serves on 127.0.0.1. Exits when its stdin
 * closes, when its parent is gone, or on SIGINT and SIGTERM, so that nothing, not even a SIGKILL of the parent, leaves
 * it behind.
 */

/** Finished batches that are kept for polling. */
const MAX_FINISHED_BATCHES = 200;
const PARENT_CHECK_MS = 2_000;

const stop = () => process.exit(0);
process.on("SIGINT", stop).on("SIGTERM", stop);
process.stdin.on("end", stop).on("close", stop).on("error", stop).resume();
process.stdout.on("error", stop);
const parent = process.ppid;
setInterval(() => process.ppid !== parent && stop(), PARENT_CHECK_MS);

const embed = await openMinilm();
const scorer = new Scorer(embed, MAX_FINISHED_BATCHES);
const server = createServer((request, response) => {
  void answer(request, scorer)
    .catch(() => ({ status: 500, body: { error: "scoring failed" } }))
    .then(({ status, body }) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null) {
    process.stdout.write(`${JSON.stringify({ listening: address.port })}\n`);
  }
  // The first text loads the model (about half a second), so embed one before the first batch.
  setImmediate(() => void embed(["ready"]));
});
