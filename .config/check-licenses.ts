import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Checks the license of every installed dependency. Prints those that are not allowed, and exits with 1 if there are any. */

/** Licenses that ask for nothing but their notice. A Worker or the client package may contain such code. */
const PERMISSIVE = ["MIT", "MIT OR Apache-2.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "CC0-1.0"];

/** Tools that run on the developer's machine and are in no Worker and no package. */
const TOOLS: readonly (readonly [license: string, name: RegExp, reason: string])[] = [
  ["LGPL-3.0-or-later", /^@img\/sharp-libvips-/, "a library that miniflare loads for image bindings"],
  ["MPL-2.0", /^lightningcss/, "bundles style sheets in vite"],
  ["PSF-2.0", /^argparse$/, "reads arguments in a development tool"],
];

interface Dependency {
  readonly name: string;
  readonly versions: readonly string[];
}

const pnpm = spawnSync("pnpm", ["licenses", "list", "--json"], {
  cwd: fileURLToPath(new URL("..", import.meta.url)),
  encoding: "utf8",
  maxBuffer: 100_000_000,
});
if (pnpm.status !== 0) {
  console.error(`pnpm licenses list failed:\n${pnpm.error?.message ?? pnpm.stdout + pnpm.stderr}`);
  process.exit(1);
}
const byLicense = JSON.parse(pnpm.stdout) as Readonly<Record<string, readonly Dependency[]>>;
const isAllowed = (license: string, name: string) =>
  PERMISSIVE.includes(license) || TOOLS.some(([allowed, tool]) => allowed === license && tool.test(name));
const refused = Object.entries(byLicense).flatMap(([license, dependencies]) =>
  dependencies
    .filter(({ name }) => !isAllowed(license, name))
    .map(({ name, versions }) => `${name} ${versions.join(", ")}: ${license}`),
);
if (refused.length > 0) {
  console.error(`Licenses that are not allowed:\n${refused.join("\n")}\nReplace the package, or add the license here.`);
  process.exit(1);
}
