import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../src/configuration.ts";

const ignored = (path: string) => /(^|\/)(node_modules|\.git|\.sluice|dist)(\/|$)/.test(path);
const files = globSync(["*", "{.ci,.config,migrations,packages,workers}/**/*"], { cwd: ROOT, exclude: ignored });
const there = new Set(files.map((path) => normalize(path)));
const documents = [...there].filter((path) => path.endsWith(".md"));

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const withoutCode = (text: string) => text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "");

/** The anchors of a document's headings, as GitHub generates them. */
function anchorsOf(path: string): string[] {
  const headings = withoutCode(read(path)).matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** Relative links with a missing target. */
function brokenLinks(path: string): string[] {
  const targets = [...withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [file = "", anchor] = target.split("#");
    const to = file === "" ? path : join(dirname(path), file);
    return !there.has(to) || (anchor !== undefined && !anchorsOf(to).includes(anchor));
  });
}

const FILE = /^[\w@.-]+(\/[\w@.-]+)*\.(ts|js|md|json|jsonc|sql|ndjson|py|sh)$/;
const FOLDER = /^([\w.-]+\/)+$/;

/** Files and folders in backticks that do not exist. A path that does not begin at the root may be a suffix of one. */
function missingPaths(path: string): string[] {
  const words = [...withoutCode(read(path)).matchAll(/`([^`\s]+)`/g)].map(([, word = ""]) => word);
  return words.filter((word) => {
    if (!FILE.test(word) && !FOLDER.test(word)) return false;
    const name = word.replace(/\/$/, "");
    const isWhole = /^(packages|workers|migrations)\//.test(word);
    return !(isWhole ? there.has(name) : [...there].some((one) => `/${one}`.endsWith(`/${name}`)));
  });
}

/** Files of the reader, or files that a command writes. */
const NOT_OURS = ["FILE.ndjson", "FILE.rejected.ndjson", "wrangler.jsonc", "index.js"];

describe.each(documents)("%s", (path) => {
  it("has no broken link", () => {
    expect(brokenLinks(path)).toEqual([]);
  });

  it("names no file that does not exist", () => {
    expect(missingPaths(path).filter((name) => !NOT_OURS.includes(name))).toEqual([]);
  });
});

it("finds the documents", () => {
  expect(documents).toEqual(expect.arrayContaining(["README.md", "packages/pipeline/README.md", "workers/README.md"]));
});

it("the README has at most 1,200 words", () => {
  expect(read("README.md").split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(1_200);
});
