import { expect } from "vitest";
import { records, steady, TABLE, testPushed as test } from "./run.ts";

test("collections get shows the counts, and the progress of a deletion", async ({ bench }) => {
  const get = (...more: string[]) => bench.run(["collections", "get", "default", ...more]);
  expect((await get(...TABLE)).stdout).toBe("default has 3 recorded documents: 2 succeeded, 1 failed.\n");
  await bench.run(["collections", "delete", "default", "--yes"]);
  expect(steady((await get(...TABLE)).stdout)).toBe(
    "default has 3 recorded documents: 2 succeeded, 1 failed.\n" +
      "Being deleted through sub_0001, requested N ago: 3 versions deleted so far.\n",
  );
  expect(records((await get()).stdout)).toMatchObject([{ collection: "default", deletion: { deleted_documents: 3 } }]);
  expect((await bench.run(["collections", "get", "none"])).code).toBe(1);
});

test("collections delete asks for the name, and does nothing without it", async ({ bench }) => {
  const remove = (answer: string, ...more: string[]) =>
    bench.run(["collections", "delete", "default", ...more], answer);
  for (const answer of ["", "yes\n", "other\n"]) {
    const refused = await remove(answer, ...TABLE);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/every document pushed into default so far.*\n.*name.*\n.*Nothing was deleted/);
  }
  expect(bench.paths()).toEqual([]);
  const confirmed = await remove("default\n", ...TABLE);
  expect(confirmed.code).toBe(0);
  expect(steady(confirmed.stdout)).toBe(
    "Being deleted through sub_0001, requested N ago: 3 versions deleted so far.\n" +
      "Follow it: sluice collections get default\n",
  );
  expect(records((await remove("", "--yes")).stdout)).toEqual([
    { requested_at: "2026-01-01T00:00:00.000Z", through: "sub_0001", completed_at: null, deleted_documents: 3 },
  ]);
  expect(bench.paths()).toEqual(["DELETE /v1/collections/default", "DELETE /v1/collections/default"]);
});

test("collections refuses a name that no collection can have", async ({ bench }) => {
  for (const name of ["a/b", "..", "x y"]) expect((await bench.run(["collections", "get", name])).code).toBe(2);
  expect(bench.paths()).toEqual([]);
});
