import { sql } from "drizzle-orm";
import { env } from "cloudflare:test";
import { expect, it } from "vitest";
import { D1Timeout, isTransient, openDatabase } from "@sluice/db";
import { describeError } from "../../src/platform/describe-error.ts";

const SECRET = "a secret text";

/** The description without the frames of its stack. Checks that it does not contain the secret. */
function described(error: unknown) {
  const { at, ...rest } = describeError(error);
  expect(JSON.stringify({ at, ...rest })).not.toContain("secret");
  return rest;
}

async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("expected an error");
}

it("names D1's refusal under Drizzle's error, whose message holds the bound values", async () => {
  const db = openDatabase(env.DB);
  const broken = sql`INSERT INTO heartbeats (name, at) VALUES (${SECRET}, NULL)`;
  const thrown = await thrownBy(async () => db.run(broken));
  expect(String(thrown)).toContain(SECRET);
  expect(described(thrown)).toMatchObject({
    error: "DrizzleQueryError",
    cause: "Error",
    code: expect.stringMatching(/^SQLITE_/) as string,
    transient: false,
  });
});

it.each([
  ["D1_ERROR: UNIQUE constraint failed: t.id: SQLITE_CONSTRAINT", "SQLITE_CONSTRAINT", false],
  [
    "D1_ERROR: UNIQUE constraint failed: t.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)",
    "SQLITE_CONSTRAINT_PRIMARYKEY",
    false,
  ],
  ["D1_ERROR: Network connection lost.", "D1_ERROR", true],
  [`D1_TYPE_ERROR: Type 'object' not supported for value '${SECRET}'`, "D1_TYPE_ERROR", false],
  ["InferenceUpstreamError: AiError: 3040: Capacity temporarily exceeded", "3040", false],
  [`Unexpected token 'a', "${SECRET}" is not valid JSON`, null, false],
  [`4 secret: 3040: SQLITE_SECRET`, null, false],
] as const)("reads the code from %s, and whether D1 may succeed if repeated", (message, code, transient) => {
  const raw = { error: "Error", cause: "", code, transient };
  expect(described(new Error(message))).toEqual(raw);
  const wrapped = new Error(`Failed query: SELECT ?\nparams: ${SECRET}`, { cause: new TypeError(message) });
  expect(described(wrapped)).toEqual({ ...raw, cause: "TypeError" });
});

it("describes a timed-out call, invalid JSON, and values that are not errors", () => {
  const none = { cause: "", code: null, transient: false };
  expect(described(new D1Timeout(SECRET))).toEqual({ ...none, error: "D1Timeout", transient: true });
  expect(described(new SyntaxError(SECRET))).toEqual({ ...none, error: "SyntaxError" });
  expect(described(SECRET)).toEqual({ ...none, error: "string" });
  expect(described({ code: SECRET })).toEqual({ ...none, error: "object" });
  expect(described(undefined)).toEqual({ ...none, error: "undefined" });
  const named = new Error(SECRET);
  named.name = SECRET;
  expect(described(named)).toEqual({ ...none, error: "Error" });
});

it("lists frames of the stack, not lines of a message that look like frames", () => {
  const error = new Error(`first\n    at secret (line)\n    at ${SECRET}`);
  const { at } = describeError(error);
  expect(at.length).toBeGreaterThan(0);
  expect(at.join()).toContain("describe-error.test.ts");
  expect(at.join()).not.toContain("secret");
});

it("terminates if an error is its own cause", () => {
  const error = new Error("x");
  error.cause = error;
  expect(described(error)).toMatchObject({ error: "Error", code: null });
  expect(isTransient(error)).toBe(false);
});
