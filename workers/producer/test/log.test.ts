import { afterEach, expect, it, vi } from "vitest";
import { logLine } from "../src/log.ts";
import { pushJson, testApi } from "./api.ts";
import { ask } from "./stored.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

it("only lines that ask a person to look at them are errors of the console", () => {
  const lines: [string, unknown][] = [];
  for (const level of ["log", "error"] as const)
    vi.spyOn(console, level).mockImplementation((line) => void lines.push([level, JSON.parse(String(line))]));
  logLine({ event: "push_accepted", documents: 1 });
  logLine({ event: "unexpected_error", level: "error" });
  expect(lines).toEqual([
    ["log", { event: "push_accepted", documents: 1 }],
    ["error", { event: "unexpected_error", level: "error" }],
  ]);
});

it("an accepted push is one line with its submission", async () => {
  const api = await testApi();
  await pushJson(api, { documents: [1, 2].map(() => ({ query: "a secret question", contexts: ["a"] })) });
  const { data } = await ask<{ data: readonly { readonly id: string }[] }>("/v1/submissions");
  const counts = { documents: 2, skipped: 0 };
  expect(api.logs).toEqual([
    { event: "push_accepted", submission: data[0]?.id, collection: "default", lane: "interactive", ...counts },
  ]);
});
