import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./wrangler.jsonc" },
      // The newest date that the test pool's own runtime knows, and no delays.
      miniflare: { compatibilityDate: "2026-08-15", bindings: { MODE: "lexical", QUEUED_MS: "0", RUNNING_MS: "0" } },
    }),
  ],
  test: { name: "local-ai", include: ["test/**/*.test.ts"], isolate: false, testTimeout: 60_000 },
});
