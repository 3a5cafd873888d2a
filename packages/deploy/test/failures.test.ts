import { describe, expect, it } from "vitest";
import { describeFailure, explain, FREE_PLAN } from "../src/failures.ts";

const failure = (code: number | null, text = "") => ({ args: ["deploy"], code, text });

describe("a known failure", () => {
  it.each<[number, string]>([
    [7406, "no room for another D1 database"],
    [7502, "Run this again: it uses what is there"],
    [10_000, "wrangler login"],
    [10_021, "refused the Worker's code or a binding"],
    [10_063, "Choose one at https://dash.cloudflare.com"],
    [11_001, "has no handler for a queue"],
    [11_002, "Queues are not enabled"],
    [11_004, "wrangler queues consumer remove"],
    [11_009, "Run this again: it uses what is there"],
  ])("with the code %i is explained with its fix", (code, words) => {
    expect(explain(failure(code))).toContain(words);
  });

  it.each([100_129, 10_015, 100_328])("with the code %i means the free plan", (code) => {
    expect(explain(failure(code))).toBe(FREE_PLAN);
  });

  // In wrangler's own words: from its source, and from reports of its users.
  it.each([
    ["Queues are unavailable on the free plan. Please upgrade to a Workers Paid plan", FREE_PLAN],
    ["message_retention_period must be between 60 and 86400 on the free tier", FREE_PLAN],
    ["A database with that name already exists", "it uses what is there"],
    ["You have reached the maximum number of D1 databases for your account.", "no room"],
    ["More than one account available but unable to select one in non-interactive mode.", "CLOUDFLARE_ACCOUNT_ID"],
    ["In a non-interactive environment, it's necessary to set a CLOUDFLARE_API_TOKEN", "wrangler login"],
    [
      'Queue "sluice-bulk" does not exist. To create it, run: wrangler queues create sluice-bulk',
      "creates what is missing",
    ],
    [
      "register a workers.dev subdomain here:\nhttps://dash.cloudflare.com/a1/workers/onboarding",
      "no workers.dev subdomain",
    ],
    ["TypeError: fetch failed", "may have taken effect"],
    ["POST /accounts/a1/queues -> 502 Bad Gateway", "may have taken effect"],
  ])("in the words %j is explained", (text, words) => {
    expect(explain(failure(null, text))).toContain(words);
  });

  it("is recognized by its code rather than by words beside it", () => {
    expect(explain(failure(11_004, "fetch failed"))).toContain("consumer");
  });
});

it("a failure of the API is not seen in the size of a bundle", () => {
  expect(explain(failure(null, "Total Upload: 502.71 KiB / gzip: 108.06 KiB"))).toBeNull();
});

it("describes an unknown failure with wrangler's own words and what to do", () => {
  expect(explain(failure(1, "strange"))).toBeNull();
  expect(describeFailure(failure(1, "strange"))).toMatch(/^strange\n\n.*run this again/);
});
