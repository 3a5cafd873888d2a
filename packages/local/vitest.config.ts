import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "local",
    environment: "node",
    // Files leave nothing behind in the process; what they import is heavy.
    isolate: false,
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    // Many tests start wrangler, which starts a third faster once its modules are compiled.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), "sluice-test-compile-cache") },
    // The harness tells of every delivery.
    onConsoleLog: (log) => !log.includes("[wrangler:"),
  },
});
