import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const path = (relative: string) => new URL(relative, import.meta.url).pathname;

/**
 * The tests of a package in the real runtime, with D1 (`DB`) and the events queue (`EVENTS`), emptied before each test.
 */
export function poolProject(name: string): ViteUserConfig {
  return defineConfig({
    plugins: [
      cloudflareTest(async () => ({
        miniflare: {
          // The newest date that the test pool's own runtime knows.
          compatibilityDate: "2026-08-15",
          compatibilityFlags: ["nodejs_compat"],
          d1Databases: { DB: "sluice" },
          queueProducers: { EVENTS: "sluice-events" },
          bindings: { MIGRATIONS: await readD1Migrations(path("../migrations")) },
        },
      })),
    ],
    test: {
      name,
      include: ["test/**/*.test.ts"],
      isolate: false,
      testTimeout: 60_000,
      setupFiles: [path("../packages/pipeline/test-support/migrate.ts")],
    },
  });
}
