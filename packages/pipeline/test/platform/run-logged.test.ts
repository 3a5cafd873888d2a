import { runLogged } from "../../src/platform/run-logged.ts";
import type { LogEvent } from "../../src/platform/context.ts";
import { expect, it } from "vitest";

it("logs why a run failed, without error messages or bound values", async () => {
  const events: LogEvent[] = [];
  const cause = new Error("D1_ERROR: CHECK constraint failed: a secret: SQLITE_CONSTRAINT");
  const run = () => Promise.reject(new Error("Failed query: INSERT\nparams: a secret", { cause }));
  const thrown: unknown = await runLogged("delivery_broke_off", (event) => events.push(event), run).catch(
    (error: unknown) => error,
  );
  expect(thrown).toEqual(new Error("delivery_broke_off: SQLITE_CONSTRAINT"));
  expect((thrown as Error).cause).toBeUndefined();
  expect(events).toMatchObject([{ event: "delivery_broke_off", code: "SQLITE_CONSTRAINT", transient: false }]);
  expect(JSON.stringify(events)).not.toContain("secret");
});

it("returns the result of the run", async () => {
  expect(
    await runLogged(
      "unused",
      () => undefined,
      async () => 5,
    ),
  ).toBe(5);
});
