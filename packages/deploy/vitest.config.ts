import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "deploy",
    environment: "node",
    isolate: false,
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    // Many tests start the commands, which start faster with a compile cache.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "sluice-test-compile-cache") },
    // The harness logs every delivery.
    onConsoleLog: (log) => !log.includes("[wrangler:"),
  },
});
