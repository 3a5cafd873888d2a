import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

/**
 * The tests in the real runtime with D1 (`DB`) and the events queue (`EVENTS`). The few tests of the consumer's and the
 * poller's entries are among them, because a runtime of their own takes longer to start than they run.
 */
export default defineConfig({
  plugins: [
    cloudflareTest(async () => ({
      miniflare: {
        // The newest date that the test pool's own runtime knows.
        compatibilityDate: "2026-08-15",
        compatibilityFlags: ["nodejs_compat"],
        d1Databases: { DB: "sluice" },
        queueProducers: { EVENTS: "sluice-events" },
        bindings: { MIGRATIONS: await readD1Migrations(new URL("../../migrations", import.meta.url).pathname) },
      },
    })),
  ],
  test: {
    name: "pipeline",
    include: ["test/**/*.test.ts", "../../workers/{consumer,poller}/test/**/*.test.ts"],
    isolate: false,
    testTimeout: 60_000,
    setupFiles: ["test-support/migrate.ts"],
  },
});
