import { expect } from "vitest";
import { malformedOf } from "../shapes.ts";
import { records, TABLE, testPushed as test } from "./run.ts";

test("malformed lists quarantined messages, and replays one or all", async ({ bench }) => {
  expect((await bench.run(["malformed", ...TABLE])).stdout).toBe("No message is quarantined.\n");
  bench.api.malformed.push(...["msg_a", "msg_b", "msg_c"].map(malformedOf));
  expect((await bench.run(["malformed", ...TABLE])).stdout).toMatch(
    /^QUEUE .*\nsluice-bulk .*the body is not JSON  msg_a\n/,
  );
  expect(records((await bench.run(["malformed", "--limit", "2"])).stdout)).toMatchObject([
    { id: "msg_a" },
    { id: "msg_b" },
  ]);
  expect((await bench.run(["malformed", "--replay", "msg_b", ...TABLE])).stdout).toBe(
    "1 message sent again. If they fail again, they reappear here: sluice malformed\n",
  );
  expect(bench.api.malformed.map(({ id }) => id)).toEqual(["msg_a", "msg_c"]);
  expect(records((await bench.run(["malformed", "--replay"])).stdout)).toEqual([{ replayed: 2 }]);
  expect(bench.api.malformed).toEqual([]);
});

test("malformed --discard discards one message, and excludes --replay", async ({ bench }) => {
  bench.api.malformed.push(...["msg_a", "msg_b"].map(malformedOf));
  bench.api.unplaceable.add("msg_a");
  const discarded = await bench.run(["malformed", "--discard", "msg_a", ...TABLE]);
  expect([discarded.code, discarded.stdout]).toEqual([0, "1 message discarded.\n"]);
  expect(bench.api.malformed.map(({ id }) => id)).toEqual(["msg_b"]);
  expect((await bench.run(["malformed", "--discard", "msg_a"])).code).toBe(1);
  expect((await bench.run(["malformed", "--discard", "msg_b", "--replay"])).code).toBe(2);
  expect(records((await bench.run(["malformed", "--discard", "msg_b"])).stdout)).toEqual([{ discarded: 1 }]);
  expect(bench.api.malformed).toEqual([]);
});

test("malformed --replay reports a message that cannot be replayed and continues", async ({ bench }) => {
  bench.api.malformed.push(...["msg_a", "msg_b", "msg_c"].map(malformedOf));
  bench.api.unplaceable.add("msg_a");
  const { code, stdout, stderr } = await bench.run(["malformed", "--replay", ...TABLE]);
  expect(stdout).toBe("2 messages sent again. If they fail again, they reappear here: sluice malformed\n");
  expect(stderr).toMatch(/^msg_a: .*conflict.*\n$/);
  expect(code).toBe(1);
  expect(bench.api.malformed.map(({ id }) => id)).toEqual(["msg_a"]);
});
