import { beforeEach } from "vitest";
import { restartMinting } from "./minted.ts";
import { emptyDatabase } from "./empty-database.ts";

beforeEach(async () => {
  restartMinting();
  await emptyDatabase();
});
