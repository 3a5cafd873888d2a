import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { err, ok, type Result } from "@sluice/core";

/** What this workspace keeps directly in a state folder. The rest is wrangler's. */
const FILES = ["api-key", "lock.pid", "sluice.log"];
const FOLDERS = ["config", "registry", "v3"];

/** Makes the state folder where it is missing, and gives one line where it cannot be used. */
export function prepareState(state: string): Result<void, string> {
  const problem = folderProblem(state);
  if (problem !== null) return err(unusable(state, problem));
  try {
    makeFolder(state);
    // Also proves that files can be made there. It is empty until somebody takes the lock.
    open(join(state, "lock"), "a");
    for (const name of FILES) if (exists(join(state, name))) open(join(state, name), "r+");
    const blocked = FOLDERS.map((name) => join(state, name)).find((path) => exists(path) && !isFolder(path));
    return blocked === undefined ? ok(undefined) : err(unusable(state, `${blocked} is not a folder`));
  } catch (error) {
    return err(unusable(state, explain(error)));
  }
}

/** What stands where the folder, or one above it, should be; `null` where nothing does. */
export function folderProblem(path: string): string | null {
  try {
    for (let place = path; ; place = dirname(place)) {
      const found = statSync(place, { throwIfNoEntry: false });
      if (found !== undefined) return found.isDirectory() ? null : `${place} is not a folder`;
      if (dirname(place) === place) return null;
    }
  } catch (error) {
    return explain(error);
  }
}

export function unusable(state: string, why: string): string {
  return `SLUICE_STATE cannot be ${state}: ${why}. Set it to a folder that you may write to.`;
}

/** One folder after another: Node's own `recursive` never ends where the system says that a parent is missing. */
function makeFolder(path: string): void {
  if (isFolder(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another command may have made it a moment ago.
    if (!isFolder(path)) throw error;
  }
}

function open(path: string, flags: "a" | "r+"): void {
  closeSync(openSync(path, flags));
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
const exists = (path: string) => statSync(path, { throwIfNoEntry: false }) !== undefined;

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, path = "it" } = error as NodeJS.ErrnoException;
  switch (code) {
    case "EISDIR":
      return `${path} is a folder`;
    case "EEXIST":
    case "ENOTDIR":
      return `${path} is not a folder`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `${path} may not be written`;
    case "ENOENT":
      return `${path} cannot be made there`;
    default:
      return error.message;
  }
}
