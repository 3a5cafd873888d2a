import { printError } from "@sluice/client/terminal";
import type { Stack } from "./runtime.ts";

/** Reports failed poller runs. The next run retries, so each reason is reported once. `before` is printed before it. */
export function reportRunFailures(stack: Stack, before = ""): void {
  const reported = new Set<string>();
  stack.onRunFailure((reason) => {
    if (reported.has(reason)) return;
    reported.add(reason);
    process.stderr.write(before);
    printError(`A poller run failed: ${reason}. See ${stack.log}`);
  });
}
