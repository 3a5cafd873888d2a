import { setTimeout } from "node:timers/promises";
import type { TestProject } from "vitest/node";
import { Together } from "../../../local/test/together/stack.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The producer's URL, and a key with every scope. */
    readonly stack: { readonly url: string; readonly key: string };
  }
}

/** Milliseconds between poller runs. */
const TICK_MS = 50;

/** Starts the four Workers once for all tests of the project, with cron running. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const together = await Together.start();
  const ending = new AbortController();
  const cron = (async () => {
    while (!ending.signal.aborted) {
      await together.poll();
      await setTimeout(TICK_MS);
    }
  })();
  project.provide("stack", { url: together.url, key: together.key });
  return async () => {
    ending.abort();
    await cron;
    await together.stop();
  };
}
