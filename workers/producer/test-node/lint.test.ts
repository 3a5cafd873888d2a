import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, it } from "vitest";
import { openApiDocument } from "../src/openapi/document.ts";

it("the OpenAPI document is clean under Redocly's recommended rules, every one an error", async () => {
  const config = await createConfig({ extends: ["recommended-strict"] });
  const problems = await lintFromString({
    source: JSON.stringify(openApiDocument()),
    absoluteRef: "/openapi.json",
    config,
  });
  expect(
    problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} at ${location[0]?.pointer ?? ""}`),
  ).toEqual([]);
});
