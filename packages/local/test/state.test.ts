import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { keepApiKey } from "../src/api-key.ts";
import { lockState } from "../src/lock.ts";
import { prepareState } from "../src/state.ts";

let state: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "sluice-state-"));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(state, { recursive: true });
});

/** Another process that takes the lock, reports it, and waits to be killed. */
async function holdElsewhere() {
  const lock = JSON.stringify(import.meta.resolve("../src/lock.ts"));
  const program = `const { lockState } = await import(${lock});
    const { ok } = lockState(${JSON.stringify(state)}, process.pid);
    // The lock must hold although nothing references it anymore.
    globalThis.gc();
    console.log(ok);
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ["--no-warnings", "--expose-gc", "--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const [said] = await once(child.stdout, "data");
  expect(String(said).trim()).toBe("true");
  return child;
}

describe("the lock of a state", () => {
  it("refuses a second stack and names the process that holds it", async () => {
    const child = await holdElsewhere();
    expect(lockState(state, process.pid)).toEqual({ ok: false, error: { holder: String(child.pid) } });
  });

  it("is taken over from a killed process", async () => {
    const child = await holdElsewhere();
    child.kill("SIGKILL");
    await once(child, "exit");
    const lock = lockState(state, process.pid);
    expect(lock.ok).toBe(true);
    expect(readFileSync(join(state, "lock.pid"), "utf8")).toBe(`${process.pid}\n`);
    if (lock.ok) lock.value.release();
  });

  it("ignores the process id of a dead holder, even if it is reused", () => {
    writeFileSync(join(state, "lock.pid"), `${process.ppid}\n`);
    const lock = lockState(state, process.pid);
    expect(lock.ok).toBe(true);
    if (lock.ok) lock.value.release();
  });

  it("is free again once released, and may be released twice", () => {
    const lock = lockState(state, 1);
    if (!lock.ok) throw new Error("not locked");
    lock.value.release();
    lock.value.release();
    expect(existsSync(join(state, "lock.pid"))).toBe(false);
    const again = lockState(state, 2);
    expect(again.ok).toBe(true);
    if (again.ok) again.value.release();
  });
});

describe("a state folder", () => {
  it("is created if missing, with its parents, and stays usable", () => {
    const path = join(state, "a", "b");
    expect(prepareState(path)).toEqual({ ok: true, value: undefined });
    const lock = lockState(path, process.pid);
    expect(lock.ok).toBe(true);
    if (lock.ok) lock.value.release();
    expect(prepareState(path).ok).toBe(true);
  });

  it.each(["api-key", "lock", "lock.pid", "sluice.log"])("is refused in one line if %s is a folder", (name) => {
    mkdirSync(join(state, name));
    expect(prepareState(state)).toEqual({
      ok: false,
      error: `SLUICE_STATE cannot be ${state}: ${join(state, name)} is a folder. Set it to a writable folder.`,
    });
  });

  it.each(["config", "registry", "v3"])("is refused in one line if %s is a file", (name) => {
    writeFileSync(join(state, name), "");
    expect(prepareState(state)).toMatchObject({
      ok: false,
      error: expect.stringContaining(`${join(state, name)} is not a folder`),
    });
  });

  it.each(["file", "file/below", "file/far/below"])("is refused in one line if it is %s", (name) => {
    const file = join(state, "file");
    writeFileSync(file, "");
    expect(prepareState(join(state, name))).toMatchObject({
      ok: false,
      error: expect.stringContaining(`${file} is not a folder`),
    });
  });

  // Node's own recursive mkdir loops forever there.
  it.runIf(existsSync("/proc/self"))("is refused if the system does not allow it", () => {
    expect(prepareState("/proc/sluice/state")).toMatchObject({
      ok: false,
      error: expect.stringContaining("/proc/sluice cannot be created"),
    });
  });
});

describe("the created key", () => {
  it("stays the same for a state, readable only by its owner", () => {
    const key = keepApiKey(state, new Uint8Array(24).fill(1));
    expect(key).toMatch(/^sluice_[\w-]{32}$/);
    expect(keepApiKey(state, new Uint8Array(24).fill(2))).toBe(key);
    expect(statSync(join(state, "api-key")).mode & 0o777).toBe(0o600);
  });
});
