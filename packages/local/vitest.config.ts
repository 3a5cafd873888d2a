import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "local",
    environment: "node",
    // Test files leave nothing behind in the process, and their imports are slow.
    isolate: false,
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    // Many tests start wrangler, which starts a third faster with a compile cache.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "sluice-test-compile-cache") },
    // The harness logs every delivery.
    onConsoleLog: (log) => !log.includes("[wrangler:"),
  },
});
