import { defineConfig } from "vitest/config";

/** The client and the command against the four real Workers on one machine. */
export default defineConfig({
  test: {
    name: "client against the Workers",
    environment: "node",
    // One file: its tests pause models, so a second file would need a stack of its own.
    include: ["test/real/server.test.ts"],
    globalSetup: ["test/real/stack.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // The harness logs every delivery.
    onConsoleLog: (log) => !log.includes("[wrangler:"),
  },
});
