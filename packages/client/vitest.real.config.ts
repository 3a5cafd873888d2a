import { defineConfig } from "vitest/config";

/** The client and the command against the four real Workers on one machine. */
export default defineConfig({
  test: {
    name: "client against the Workers",
    environment: "node",
    include: ["test/real/**/*.test.ts"],
    globalSetup: ["test/real/stack.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    // The harness logs every delivery.
    onConsoleLog: (log) => !log.includes("[wrangler:"),
  },
});
