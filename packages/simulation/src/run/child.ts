import { SMALL_LIMITS } from "../limits.ts";
import { MUTATIONS } from "../mutations/index.ts";
import { Patches } from "./patches.ts";
import { standInForPlatform } from "./platform.ts";
import type { ChildAnswer, ChildOrder, Program } from "./protocol.ts";

/*
 * A process that runs seeds against the product, unchanged or with one mutation. The product is imported only after its
 * source is patched.
 */

const program = JSON.parse(process.argv[2] ?? "") as Program;
const mutation = program.kind === "simulate" ? MUTATIONS.find(({ name }) => name === program.mutation) : undefined;
const patches = new Patches([...SMALL_LIMITS, ...(mutation?.replacements ?? [])]);
patches.applyToModules();
standInForPlatform();

const { runSeed } = await import("./run-seed.ts");
const { BASELINE_TABLES, compareSeed } = await import("../compare/compare-seed.ts");
const { Sqlite } = await import("../d1/sqlite.ts");
const { readConfiguration } = await import("../world/configuration.ts");
const configuration = readConfiguration(patches.apply);
const sqlite = new Sqlite(patches.apply, program.kind === "compare" ? BASELINE_TABLES : []);
patches.assertApplied();

/** An unhandled rejection is a bug in the code under test. */
let unhandled: string | null = null;
process.on("unhandledRejection", (error) => {
  unhandled ??= `unhandled rejection: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
});

process.on("message", (order: ChildOrder) => {
  void answer(order);
});
send({ kind: "ready" });

async function answer({ seed }: ChildOrder): Promise<void> {
  unhandled = null;
  const result =
    program.kind === "compare"
      ? await compareSeed(seed, sqlite, { ...program, configuration })
      : await runSeed(seed, sqlite, {
          keepsTrace: program.keepsTrace,
          kind: mutation?.kind ?? program.ofKind ?? null,
          configuration,
        });
  send({ kind: "ran", result: { ...result, flaw: result.flaw ?? unhandled } });
}

function send(message: ChildAnswer): void {
  process.send?.(message);
}
