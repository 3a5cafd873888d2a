import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "local",
    environment: "node",
    include: ["test/**/*.test.ts"],
    // The harness tells of every delivery.
    onConsoleLog: (log) => !log.includes("[wrangler:"),
  },
});
