import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { err, ok, type Result } from "@sluice/core";

/** The files that this workspace stores directly in a state folder. The rest is wrangler's. */
const FILES = ["api-key", "lock.pid", "sluice.log"];
const FOLDERS = ["config", "registry", "v3"];

/** Creates the state folder if needed. Returns a one-line error if it cannot be used. */
export function prepareState(state: string): Result<void, string> {
  const problem = folderProblem(state);
  if (problem !== null) return err(unusable(state, problem));
  try {
    makeFolder(state);
    // This also proves that files can be created. The file stays empty until a process takes the lock.
    open(join(state, "lock"), "a");
    for (const name of FILES) if (exists(join(state, name))) open(join(state, name), "r+");
    const blocked = FOLDERS.map((name) => join(state, name)).find((path) => exists(path) && !isFolder(path));
    return blocked === undefined ? ok(undefined) : err(unusable(state, `${blocked} is not a folder`));
  } catch (error) {
    return err(unusable(state, explain(error)));
  }
}

/** The file in place of the folder or of one of its parents; `null` if there is none. */
export function folderProblem(path: string): string | null {
  try {
    for (let folder = path; ; folder = dirname(folder)) {
      const found = statSync(folder, { throwIfNoEntry: false });
      if (found !== undefined) return found.isDirectory() ? null : `${folder} is not a folder`;
      if (dirname(folder) === folder) return null;
    }
  } catch (error) {
    return explain(error);
  }
}

export function unusable(state: string, why: string): string {
  return `SLUICE_STATE cannot be ${state}: ${why}. Set it to a writable folder.`;
}

/** Creates the folders one by one: Node's own `recursive` loops forever if the system reports a missing parent. */
function makeFolder(path: string): void {
  if (isFolder(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another command may have just created it.
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
      return `${path} is not writable`;
    case "ENOENT":
      return `${path} cannot be created`;
    default:
      return error.message;
  }
}
