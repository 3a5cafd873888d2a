import { env } from "cloudflare:test";
import { test } from "vitest";
import { BatchService } from "./batch-service.ts";
import { testContext, type TestContext } from "./test-context.ts";

/** The Workers AI of the test that runs. */
export let service: BatchService;
/** What the steps of the test that runs get from outside, with the service. */
export let context: TestContext;

/** `it` with a fresh `service` and `context` for each test, before its hooks. */
export const it = test.extend<{ readonly outside: undefined }>({
  outside: [
    // oxlint-disable-next-line no-empty-pattern -- Vitest reads from the pattern which fixtures this one needs: none.
    async ({}, use) => {
      service = new BatchService();
      context = testContext(env.DB, service);
      await use(undefined);
    },
    { auto: true },
  ],
});
