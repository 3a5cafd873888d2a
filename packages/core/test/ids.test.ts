import { describe, expect, it } from "vitest";
import { mintJobId, parseJobId, parseSubmissionId, uuidTail } from "../src/index.ts";

const bytes = (fill: number) => new Uint8Array(10).fill(fill);

describe("a UUIDv7", () => {
  it("has its version and variant for any random bits", () => {
    for (const fill of [0x00, 0x5a, 0xa5, 0xff]) {
      expect(parseSubmissionId(`sub_01999999-0000-${uuidTail(bytes(fill))}`)).not.toBeNull();
      expect(parseJobId(mintJobId(1_790_000_000_000, bytes(fill)))).not.toBeNull();
    }
  });

  it("gives different ids for different random bytes", () => {
    const tails = Array.from({ length: 10 }, (_, at) => uuidTail(bytes(0).with(at, 0x10)));
    expect(new Set([...tails, uuidTail(bytes(0))]).size).toBe(11);
  });

  it("is greater for a later millisecond", () => {
    const now = 1_790_000_000_000;
    expect(mintJobId(now + 1, bytes(0)) > mintJobId(now, bytes(0xff))).toBe(true);
    expect(Number.parseInt(mintJobId(now, bytes(0)).slice(4, 17).replace("-", ""), 16)).toBe(now);
  });
});

it.each([
  "",
  "sub_",
  "sub_01999999-0000-4000-8000-000000000000",
  "SUB_01999999-0000-7000-8000-000000000000",
  "job_01999999-0000-7000-8000-000000000000",
  "sub_01999999-0000-7000-8000-000000000000 ",
])("rejects %j as a submission id", (text) => {
  expect(parseSubmissionId(text)).toBeNull();
});
