import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { reporters } from "./vitest.config.ts";

/** Every point of the kill matrix, of which `test` plays only a few, and a longer soak with kills. */
export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: { name: "kill", environment: "node", include: ["packages/local/test/**/*.kill.ts"], reporters },
});
