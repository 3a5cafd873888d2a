import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { build } from "esbuild";

/*
 * Builds the content of `npm pack`: the library and the command, each bundled into one file without dependencies, and
 * the declarations. Plain JavaScript, because npm may run it with Node 20.
 */

process.chdir(import.meta.dirname);
rmSync("dist", { recursive: true, force: true });
await build({
  entryPoints: ["src/index.ts"],
  outfile: "dist/index.js",
  bundle: true,
  format: "esm",
  platform: "neutral",
  target: "es2022",
});
await build({
  entryPoints: ["src/cli/sluice.ts"],
  outfile: "dist/sluice.js",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  // Its dependencies are CommonJS and require Node's own modules.
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
});
execFileSync("tsc", ["-p", "tsconfig.declarations.json"], { stdio: "inherit" });
copyFileSync("../../LICENSE", "dist/LICENSE");
