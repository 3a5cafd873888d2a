import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { expect } from "vitest";

/** Lines of bash that a test runs, each in its own process group. */
export class Shell {
  readonly #children: ChildProcess[] = [];

  /** Runs a line in which `$node` is Node. */
  start(line: string, folder: string, env: Readonly<Record<string, string>> = {}) {
    const child = spawn("bash", ["-c", line], {
      detached: true,
      cwd: folder,
      env: { ...process.env, ...env, node: process.execPath },
    });
    this.#children.push(child);
    const output = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
    const ended = once(child, "close").then(([code]) => ({ code: Number(code), ...output }));
    return { child, output, ended };
  }

  /** Kills the processes that still run. */
  kill(): void {
    for (const { pid, exitCode } of this.#children.splice(0)) {
      if (exitCode === null) process.kill(-Number(pid), "SIGKILL");
    }
  }
}

/** A command whose reader exits after this number of lines. The line's exit code is the command's. */
export function headed(command: string, lines: number): string {
  return `"$node" --no-warnings ${command} | head -n ${lines}; exit "\${PIPESTATUS[0]}"`;
}

/** Processes of a child's group by command, without zombies. Linux only. */
function groupOf(child: ChildProcess): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return group === String(child.pid) && state !== "Z" ? [stat.slice(0, stat.lastIndexOf(")") + 1)] : [];
      } catch {
        // It has just ended.
        return [];
      }
    });
}

/** Waits until the shell's process group is empty: a killed process takes a moment to end. */
export async function expectNoProcess(child: ChildProcess): Promise<void> {
  await expect.poll(() => groupOf(child), { timeout: 5_000 }).toEqual([]);
}
