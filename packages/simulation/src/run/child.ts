import { SMALL_LIMITS } from "../limits.ts";
import { MUTATIONS } from "../mutations/index.ts";
import { Patches } from "./patches.ts";
import { standInForPlatform } from "./platform.ts";
import type { ChildAnswer, ChildOrder } from "./protocol.ts";

/*
 * A process that runs the seeds it is told to, over the product as it is or with one mutation. The
 * product is imported only after its texts are replaced.
 */

const mutation = MUTATIONS.find(({ name }) => name === process.argv[2]);
const patches = new Patches([...SMALL_LIMITS, ...(mutation?.replacements ?? [])]);
patches.applyToModules();
standInForPlatform();

const { runSeed } = await import("./run-seed.ts");
const { Sqlite } = await import("../d1/sqlite.ts");
const sqlite = new Sqlite(patches.apply);
patches.assertApplied();

/** A rejection that nobody handles is a bug of whoever is under test. */
let unhandled: string | null = null;
process.on("unhandledRejection", (error) => {
  unhandled ??= `a promise was rejected and nobody noticed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
});

process.on("message", (order: ChildOrder) => {
  void answer(order);
});
send({ kind: "ready" });

async function answer({ seed, keepsTrace }: ChildOrder): Promise<void> {
  unhandled = null;
  const result = await runSeed(seed, sqlite, { keepsTrace, kind: mutation?.kind ?? null });
  send({ kind: "ran", result: { ...result, flaw: result.flaw ?? unhandled } });
}

function send(message: ChildAnswer): void {
  process.send?.(message);
}
