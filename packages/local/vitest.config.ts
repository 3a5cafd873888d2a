import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "local",
    environment: "node",
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    // The harness tells of every delivery.
    onConsoleLog: (log) => !log.includes("[wrangler:"),
  },
});
