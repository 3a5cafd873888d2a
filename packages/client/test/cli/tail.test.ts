import { expect } from "vitest";
import { problem } from "../fake-api.ts";
import { records, testPushed as test } from "./run.ts";

test("tail does not offer a refused cursor", async ({ bench }) => {
  bench.api.instead.push(() => problem(422, "invalid"));
  const { code, stderr } = await bench.run(["tail", "--cursor", "zzz"]);
  expect([code, stderr]).toEqual([1, "Detail of invalid.\n"]);
});

test("tail prints documents as they end until Ctrl-C, then how to continue", async ({ bench }) => {
  const { child, ended } = bench.start(["tail", "--collection", "default", "--all"]);
  await bench.api.arrival(2);
  child.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  expect(records(stdout)).toMatchObject([{ id: "d1" }, { id: "d2" }, { id: "d3" }]);
  expect(stderr).toBe("Continue from here: sluice tail --cursor 3\n");
  expect(code).toBe(130);
});

test("tail starts at the end, waits for an absent server, and offers its cursor", async ({ bench }) => {
  bench.api.looks = Infinity;
  const away = () => problem(503, "unavailable");
  const stop = new AbortController();
  const running = bench.run(["tail"], "", { signal: stop.signal });
  await bench.api.arrival(2);
  bench.api.instead.push(away, away);
  await bench.api.arrival(4);
  stop.abort(new Error("stopped"));
  const { code, stdout, stderr } = await running;
  expect(bench.paths().slice(0, 2)).toEqual(["GET /v1/results?from=now&wait=25", "GET /v1/results?cursor=3&wait=25"]);
  expect([code, stdout]).toEqual([130, ""]);
  expect(stderr).toBe(
    "Detail of unavailable. Retrying until the server answers.\nThe server answers again.\nContinue from here: sluice tail --cursor 3\n",
  );
});

test("tail offers no cursor if it is stopped before the first answer", async ({ bench }) => {
  bench.api.instead.push(() => new Promise<Response>(() => {}));
  const stop = new AbortController();
  const running = bench.run(["tail"], "", { signal: stop.signal });
  await bench.api.arrival();
  stop.abort(new Error("stopped"));
  expect(await running).toEqual({ code: 130, stdout: "", stderr: "" });
});
