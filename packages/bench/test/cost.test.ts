import { expect, it } from "vitest";
import { tokensPerDocument } from "../src/report/cost.ts";

it("a document of 1.5 KB has the tokens that RESULTS.md gives it, its query counted with each context", () => {
  expect(tokensPerDocument()).toBe(5 * (15 + 70));
});
