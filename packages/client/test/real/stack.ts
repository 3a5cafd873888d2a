import type { TestProject } from "vitest/node";
import { Together } from "../../../local/test/together/stack.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the producer listens, and a key that may do everything. */
    readonly stack: { readonly url: string; readonly key: string };
  }
}

/** Milliseconds from one run of the poller to the next. */
const TICK = 50;

/** Starts the four Workers once for all tests of the project, with the cron ticking. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const together = await Together.start();
  let ticking = true;
  const cron = (async () => {
    while (ticking) {
      await together.poll();
      await new Promise((resolve) => {
        setTimeout(resolve, TICK);
      });
    }
  })();
  project.provide("stack", { url: together.url, key: together.key });
  return async () => {
    ticking = false;
    await cron;
    await together.stop();
  };
}
