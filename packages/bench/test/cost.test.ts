import { expect, it } from "vitest";
import { tokensPerDocument } from "../src/report/cost.ts";

it("a document of 1.5 KB has the tokens given in RESULTS.md, its query counted per context", () => {
  expect(tokensPerDocument()).toBe(5 * (15 + 70));
});
