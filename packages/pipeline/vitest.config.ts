import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [
    cloudflareTest(async () => ({
      miniflare: {
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
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    setupFiles: ["test-support/migrate.ts"],
  },
});
