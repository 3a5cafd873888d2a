import { shellCommand } from "@sluice/client/terminal";
import { err, ok, type Result } from "@sluice/core";
import { PNPM } from "@sluice/local/command";
import { describeFailure } from "./failures.ts";
import type { Io } from "./io.ts";
import type { Plan, Step } from "./plan.ts";
import type { Output } from "./wrangler.ts";

/** Formats a plan: each step with the command that it runs in the root of the checkout. */
export function describePlan({ steps, notes }: Plan): string {
  const width = String(steps.length).length;
  const lines = steps.map(({ title, args }, index) => {
    const number = String(index + 1).padStart(width);
    return `${number}. ${title}\n${" ".repeat(width)}  ${shellCommand(["wrangler", ...args])}`;
  });
  const command = `Each line runs in the root of the checkout, as ${PNPM} exec wrangler …`;
  return [...lines, ...notes.map((note) => `${" ".repeat(width)}  ${note}`), "", command].join("\n");
}

/** Called after a step has succeeded. Returns why the run cannot continue. */
export type AfterStep = (step: Step, output: Output) => Promise<Result<null, string>>;

/** Runs the steps in order. Returns the first failure; that of an optional step is printed and skipped. */
export async function runPlan({ steps }: Plan, io: Io, after: AfterStep): Promise<Result<null, string>> {
  for (const [index, step] of steps.entries()) {
    io.print(`[${index + 1}/${steps.length}] ${step.title}`);
    const run = await io.wrangler(step.args);
    if (run.ok) {
      const followed = await after(step, run.value);
      if (!followed.ok) return followed;
      continue;
    }
    if (step.without === null) return err(`Step ${index + 1} failed.\n\n${describeFailure(run.error)}`);
    io.print(`Skipped: ${describeFailure(run.error)}\n${step.without}`);
  }
  return ok(null);
}
