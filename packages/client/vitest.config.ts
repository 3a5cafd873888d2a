import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "client",
    environment: "node",
    // Test files leave nothing behind in the process, and their imports are slow.
    isolate: false,
    include: ["test/{shared,node,cli}/**/*.test.ts"],
    // Some tests run the command as a process several times.
    testTimeout: 30_000,
  },
});
