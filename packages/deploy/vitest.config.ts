import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { name: "deploy", environment: "node", isolate: false, include: ["test/**/*.test.ts"], testTimeout: 60_000 },
});
