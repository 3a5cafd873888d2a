import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "jsonc-parser";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LOCAL_DATABASE_ID, ROOT, type Configuration } from "../../src/configuration.ts";
import { Together } from "./stack.ts";

const EXAMPLES = join(ROOT, "packages/client/examples");

/** An example's own configuration, with the local database. */
function configuration(example: string): Configuration {
  const folder = join(EXAMPLES, example);
  const read = parse(readFileSync(join(folder, "wrangler.jsonc"), "utf8")) as Configuration;
  return {
    ...read,
    main: join(folder, read.main ?? ""),
    ...(read.d1_databases && {
      d1_databases: read.d1_databases.map((database) => ({ ...database, database_id: LOCAL_DATABASE_ID })),
    }),
  };
}

let together: Together;
beforeAll(async () => {
  together = await Together.start(undefined, [configuration("score-reader"), configuration("rpc-pusher")]);
}, 60_000);
afterAll(async () => {
  await together.stop();
});

const DOCUMENT = {
  id: "egg",
  query: "how long to boil an egg",
  contexts: ["Hens lay eggs.", { id: "six", text: "Boil an egg for six minutes." }],
};

describe("the example Workers", () => {
  it("push over RPC, and read scores from the same D1", async () => {
    const pushed = (await together.callWorker("rpc-pusher", "/", DOCUMENT)) as { submission: string };
    expect(await together.callWorker("rpc-pusher", "/nowhere")).toBeNull();
    await together.finish(pushed.submission);
    expect(await together.callWorker("rpc-pusher", "/egg")).toMatchObject({
      id: "egg",
      status: "succeeded",
      scores: [{ rank: 1, context_id: "six" }, { rank: 2 }],
    });
    expect(await together.callWorker("score-reader", "/egg")).toMatchObject([
      { rank: 1, contextId: "six" },
      { rank: 2, contextId: "0" },
    ]);
    expect(await together.callWorker("score-reader", "/?id=egg&id=nowhere")).toMatchObject([
      { documentId: "egg", contextId: "six" },
    ]);
  });
});

/** Runs a command with the URL and key of the stack while the poller ticks. Returns its output. */
async function run(command: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const env = { ...process.env, SLUICE_URL: together.url, SLUICE_API_KEY: together.key };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  let code: number | null | undefined;
  child.once("close", (status) => (code = status));
  await together.runUntil(
    async () => code,
    (value) => value !== undefined,
  );
  return { code: code ?? null, output };
}

const has = (command: string) => spawnSync(command, ["--version"]).status === 0;

describe("the example scripts", () => {
  it.runIf(has("curl"))("push and read with curl", async () => {
    const { code, output } = await run("bash", join(EXAMPLES, "push.sh"));
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({
      id: "from-curl",
      scores: [{ rank: 1, text: "Boil an egg for six minutes." }],
    });
  });

  it.runIf(has("python3"))("push and read with Python's standard library", async () => {
    const { code, output } = await run("python3", join(EXAMPLES, "push.py"));
    expect(code).toBe(0);
    expect(output).toMatch(
      /^py-egg\t0\.\d{3}\tBoil an egg for six minutes\.\npy-bike\t0\.\d{3}\tA worn chain slips\.\n$/,
    );
  });
});
