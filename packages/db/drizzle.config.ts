import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "sqlite",
  schema: ["./src/schema.ts", "./src/schema-upkeep.ts", "./src/views.ts"],
  out: "../../migrations",
});
