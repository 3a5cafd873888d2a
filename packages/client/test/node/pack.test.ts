import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Bench } from "../cli/run.ts";

const PACKAGE = join(import.meta.dirname, "../..");
const TSC = fileURLToPath(new URL("bin/tsc", import.meta.resolve("typescript/package.json")));
const LIMIT_MS = 180_000;

/** The oldest Node that the package supports, if this machine has it; else the Node that runs the tests. */
function oldestNode(): string {
  const found = (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "node"));
  const isOldest = (node: string) =>
    existsSync(node) && spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.startsWith("v20.");
  return found.find(isOldest) ?? process.execPath;
}

describe("the packed client, installed outside the workspace", () => {
  const node = oldestNode();
  let folder: string;
  let bench: Bench;
  const installed = (...path: string[]) => join(folder, "node_modules/@sluice/client", ...path);

  /** Runs a command that must succeed. Returns its output. */
  function run(command: string, args: readonly string[], cwd = folder): string {
    const env = { ...process.env, npm_config_cache: join(folder, "cache"), npm_config_update_notifier: "false" };
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: "utf8" });
    expect(status, `${command} ${args.join(" ")}\n${stdout}${stderr}`).toBe(0);
    return stdout;
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "sluice-pack-"));
    run("npm", ["pack", "--pack-destination", folder], PACKAGE);
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
    run("npm", ["install", `./${tarball}`, "--offline", "--no-audit", "--no-fund"]);
    bench = await Bench.start();
  }, LIMIT_MS);
  afterAll(async () => {
    await bench.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("has no dependencies, and contains only bundles, declarations and documents", () => {
    expect(readdirSync(join(folder, "node_modules/@sluice"))).toEqual(["client"]);
    expect(readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."))).toEqual(["@sluice"]);
    const files = readdirSync(installed(), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed().length + 1));
    const needed = /^(package\.json|README\.md|bin\/sluice\.js|dist\/(LICENSE|index\.js|sluice\.js|.+\.d\.ts))$/;
    expect(files.filter((file) => !needed.test(file))).toEqual([]);
    const manifest = JSON.parse(readFileSync(installed("package.json"), "utf8")) as Record<string, unknown>;
    expect(manifest["dependencies"]).toBeUndefined();
    expect(manifest["engines"]).toEqual({ node: ">=20.12" });
  });

  it("can be imported", () => {
    const program = `import { Sluice, SluiceError, hasEnded } from "@sluice/client";
      console.log(typeof new Sluice({ url: "http://127.0.0.1:1", key: "k" }).push, typeof SluiceError, typeof hasEnded);`;
    writeFileSync(join(folder, "program.js"), program);
    expect(run(node, ["program.js"])).toBe("function function function\n");
  });

  it("includes its types", () => {
    const program = `import { Sluice, type Submission } from "@sluice/client";
      import type { SluiceService } from "@sluice/client/types";
      const sluice = new Sluice({ url: "http://127.0.0.1:1", key: "k" });
      export const right: Promise<Submission> = sluice.submission("id");
      // @ts-expect-error
      export const wrong: Promise<number> = sluice.submission("id");
      export type Service = SluiceService;`;
    writeFileSync(join(folder, "program.mts"), program);
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];
    const libraries = ["--lib", "es2023,dom,esnext.disposable", "--types", ""];
    expect(run(process.execPath, [TSC, ...options, ...libraries, "program.mts"])).toBe("");
  });

  it("runs the command", async () => {
    bench.program = [node, join(folder, "node_modules/.bin/sluice")];
    expect((await bench.spawn(["--version"])).stdout).toBe("0.2.0\n");
    bench.write("docs.ndjson", [{ id: "a", query: "capital of France", contexts: ["Paris", "Bananas"] }]);
    const { code, stdout, stderr } = await bench.spawn(["push", "docs.ndjson"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 1, submissions: [{ counts: { succeeded: 1 } }] });
    expect((await bench.spawn(["why", "nothing"])).code).toBe(1);
  });
});
