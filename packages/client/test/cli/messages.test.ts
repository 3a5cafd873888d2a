import { expect } from "vitest";
import { problem } from "../fake-api.ts";
import { testPushed as test } from "./run.ts";

test("escapes control characters in the API's answers", async ({ bench }) => {
  const detail = "\u{1b}]0;x\u{7}\u{202e}";
  bench.api.instead.push(() =>
    Response.json({ type: "/problems/x", title: detail, status: 422, detail, errors: [] }, { status: 422 }),
  );
  const { code, stderr } = await bench.run(["status", "sub_0001"]);
  expect(code).toBe(1);
  expect(stderr).toContain("]0;x");
  expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
});

test.for([["push", "\u{1b}[2J\u{202e}"], ["--\u{1b}[2J\u{202e}"], ["scores", "x", "--\u{202e}\u{9b}2J"]] as const)(
  "escapes control characters in quoted arguments: %j",
  async (args, { bench }) => {
    const { code, stderr } = await bench.run(args);
    expect(code).not.toBe(0);
    expect(stderr).toContain("2J");
    expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  },
);

test("prints an error once, and its locations if they add detail", async ({ bench }) => {
  const printed = async (...answer: Parameters<typeof problem>) => {
    bench.api.instead.push(() => problem(...answer));
    return (await bench.run(["status"])).stderr;
  };
  const twice = { title: "There is no such thing", detail: "There is no submission sub_9." };
  expect(await printed(404, "not-found", twice)).toBe("There is no submission sub_9.\n");
  const errors = [{ pointer: "?cursor", detail: "must be a next_cursor" }];
  const same = { title: "Not valid", detail: "?cursor must be a next_cursor.", errors };
  expect(await printed(422, "invalid", same)).toBe("Not valid: ?cursor must be a next_cursor.\n");
  expect(await printed(422, "invalid", { ...same, detail: "See errors." })).toBe(
    "Not valid: See errors.\n  ?cursor: must be a next_cursor\n",
  );
});

test("reports a long wait", async ({ bench }) => {
  bench.api.instead.push(() => problem(429, "too-many-requests", {}, { "retry-after": "2" }));
  const { code, stderr } = await bench.run(["jobs"]);
  expect([code, stderr]).toEqual([0, "Title of too-many-requests: retrying in 2.0 s\n"]);
});
