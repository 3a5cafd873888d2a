import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "simulation",
    environment: "node",
    isolate: false,
    include: ["test/**/*.test.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
