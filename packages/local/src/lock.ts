import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { err, ok, type Result } from "@sluice/core";

export interface Lock {
  release(): void;
}

/** Keeps databases reachable: the garbage collector closes an unreferenced database and releases its lock. */
const held = new Set<DatabaseSync>();

/**
 * Locks a state folder for this process, or returns the holder (its process id, if known).
 *
 * The lock is an open SQLite transaction on a file. The operating system releases it however the process ends, and a
 * reused process id cannot confuse it.
 */
export function lockState(state: string, pid: number): Result<Lock, { readonly holder: string | null }> {
  const pidFile = join(state, "lock.pid");
  const database = new DatabaseSync(join(state, "lock"), { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    return err({ holder: readPid(pidFile) });
  }
  held.add(database);
  writeFileSync(pidFile, `${pid}\n`);
  return ok({
    release() {
      if (!database.isOpen) return;
      rmSync(pidFile, { force: true });
      held.delete(database);
      database.close();
    },
  });
}

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}

function readPid(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // The holder has not written its id yet.
    return null;
  }
}
