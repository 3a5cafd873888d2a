import { env } from "cloudflare:test";
import { test } from "vitest";
import { BatchService } from "./batch-service.ts";
import { testContext, type TestContext } from "./test-context.ts";

/** The simulated Workers AI of the current test. */
export let service: BatchService;
/** The context of the steps in the current test, with the service. */
export let context: TestContext;

/** `it` with a fresh `service` and `context` for each test, before its hooks. */
export const it = test.extend<{ readonly outside: undefined }>({
  outside: [
    // oxlint-disable-next-line no-empty-pattern -- Vitest reads the needed fixtures from the pattern: none.
    async ({}, use) => {
      service = new BatchService();
      context = testContext(env.DB, service);
      await use(undefined);
    },
    { auto: true },
  ],
});
