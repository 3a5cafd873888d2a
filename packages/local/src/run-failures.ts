import { printError } from "@sluice/client/terminal";
import type { Stack } from "./runtime.ts";

/**
 * Tells of the poller's runs that fail. The next run tries again, so each reason is worth one line;
 * `before` comes in front of it.
 */
export function tellRunFailures(stack: Stack, before = ""): void {
  const told = new Set<string>();
  stack.onRunFailure((reason) => {
    if (told.has(reason)) return;
    told.add(reason);
    process.stderr.write(before);
    printError(`A run of the poller failed: ${reason}. See ${stack.log}`);
  });
}
