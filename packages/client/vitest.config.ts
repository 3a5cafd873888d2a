import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "client",
    environment: "node",
    // Files leave nothing behind in the process; what they import is heavy.
    isolate: false,
    include: ["test/{shared,node,cli}/**/*.test.ts"],
    // The command is run as a process of its own, several times a test.
    testTimeout: 30_000,
  },
});
