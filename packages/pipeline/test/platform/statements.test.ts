import { env } from "cloudflare:test";
import { countStatements, openDatabase } from "@sluice/db";
import { expect, it } from "vitest";
import { operationCalls } from "../../test-support/operation-calls.ts";
import { impatient } from "../../test-support/index.ts";

const files = import.meta.glob<Record<string, unknown>>("../../src/*/sql/*.ts", { eager: true });

/** The exported functions that send statements, which are async. The others return a fragment of a statement. */
const operations = Object.values(files).flatMap((exported) =>
  Object.entries(exported).flatMap(([name, value]) =>
    typeof value === "function" && value.constructor.name === "AsyncFunction" ? [name] : [],
  ),
);

it("has a call for every operation of every sql folder", () => {
  expect(operations.length).toBeGreaterThan(0);
  expect(Object.keys(operationCalls).toSorted()).toEqual(operations.toSorted());
});

it("has only statements that D1 can prepare after the migrations", async () => {
  const failed: string[] = [];
  for (const [name, calls] of Object.entries(operationCalls)) {
    for (const call of calls) {
      const db = openDatabase(env.DB, impatient);
      await call(db).catch((error: unknown) => failed.push(`${name}: ${String(error)}`));
      if (countStatements(db) === 0) failed.push(`${name} sends no statement`);
    }
  }
  expect(failed).toEqual([]);
});
