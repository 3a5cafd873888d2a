import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { reporters } from "./vitest.config.ts";

/** Every point of the kill matrix. `test` plays only a few of them. */
export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: { name: "kill", environment: "node", include: ["packages/local/test/kill-matrix/**/*.kill.ts"], reporters },
});
