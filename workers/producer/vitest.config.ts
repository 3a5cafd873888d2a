import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [
    cloudflareTest(async () => ({
      wrangler: { configPath: "./wrangler.jsonc" },
      miniflare: {
        bindings: { MIGRATIONS: await readD1Migrations(new URL("../../migrations", import.meta.url).pathname) },
      },
    })),
  ],
  test: {
    name: "producer",
    include: ["test/**/*.test.ts"],
    isolate: false,
    testTimeout: 60_000,
    setupFiles: ["../../packages/pipeline/test-support/migrate.ts"],
  },
});
