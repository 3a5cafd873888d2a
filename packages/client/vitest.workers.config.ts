import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

/** The client in a Worker: the same tests as in Node, on the Workers runtime. */
export default defineConfig({
  plugins: [cloudflareTest({ miniflare: { compatibilityDate: "2026-08-15" } })],
  test: { name: "client in a Worker", include: ["test/shared/**/*.test.ts"], isolate: false },
});
