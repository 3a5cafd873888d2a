import { defineConfig } from "vitest/config";

/** What is looked at from outside the runtime. */
export default defineConfig({ test: { name: "producer-document", include: ["test-node/**/*.test.ts"] } });
