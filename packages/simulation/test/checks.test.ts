import { MemoryLimit } from "@sluice/pipeline/platform/memory.ts";
import { expect, it } from "vitest";
import { Alerts } from "../src/checks/alerts.ts";
import { AskedPauses } from "../src/checks/asked-pauses.ts";
import { startTimeFlaw, submitFlaw } from "../src/checks/dispatches.ts";
import { Chain } from "../src/checks/chain.ts";
import type { JobRow } from "../src/checks/changes.ts";
import { bagFlaw, listFlaw } from "../src/checks/compare-lists.ts";
import { HeldMemory } from "../src/checks/held-memory.ts";
import { paymentFlaw } from "../src/checks/payments.ts";
import { Retries } from "../src/checks/retries.ts";
import { newDispatch, newVersion, versionKey, type Submission, type Version } from "../src/checks/state.ts";
import { Invocation } from "../src/world/invocation.ts";
import { Timeline } from "../src/world/timeline.ts";

const MINUTE = 60_000;
const MODEL = "@cf/baai/bge-m3";
const timeline = new Timeline(1_000);
const by = new Invocation(timeline, "poller", 1, 0);
const dispatchOf = (job: string) => newDispatch({ job, number: 1, list: [], references: "", startedAt: 1_000, by });
const versionOf = (id: string): Version =>
  newVersion(versionKey("sub_1", id), {
    index: 0,
    lane: "bulk",
    query: "q",
    contexts: ["a"],
    contextIds: null,
    metadata: null,
  });

it("compares the alerts that Workers log with those that D1 holds", () => {
  const worker = () => new Invocation(timeline, "poller", 9, 0);
  const line = (event: string, since: number, subject: string | null = null) =>
    JSON.stringify({ event, alert: "a", subject, since: new Date(since).toISOString() });
  const alerts = new Alerts();
  const [first, second, unheard] = [worker(), worker(), worker()];
  expect(alerts.log(line("alert", 1), first)).toContain("that D1 does not have");
  expect(alerts.take(["alerts", "insert", "a", 1], first)).toBeNull();
  expect(alerts.log(line("alert", 1, "m"), first)).toContain("that D1 does not have");
  expect(alerts.log(line("alert", 1), second)).toContain("of another run");
  expect(alerts.log(line("alert", 1), first)).toBeNull();
  expect(alerts.log(line("alert", 1), first)).toContain("of another run");
  expect(alerts.flawAtEnd(first)).toBeNull();
  alerts.take(["alerts", "delete", "a", 1], second);
  expect([...alerts.raised]).toEqual([]);
  expect(alerts.flawAtEnd(second)).toContain("did not log: delete a 1");
  alerts.take(["alerts", "insert", "a", 2], unheard);
  unheard.callBegan("d1_error_after_commit");
  expect(alerts.log(line("alert", 2), unheard)).toBeNull();
  expect(alerts.log(line("alert", 2), unheard)).toBeNull();
  expect(alerts.take(["alerts", "update", "a", 3], unheard)).toContain("changed");
});

it("keeps a pause in force from its answer until a resume is requested", () => {
  let now = 0;
  const asked = new AskedPauses(() => now);
  const inForce = asked.ask("all");
  expect(asked.keepingBack(MODEL, [], 10)).toBeNull();
  inForce();
  expect(asked.keepingBack(MODEL, [], 10)).toBe("all");
  now = 20;
  asked.resume("all");
  expect(asked.keepingBack(MODEL, [], 30)).toBeNull();
});

it("does not check a pause that was resumed before it was answered", () => {
  const asked = new AskedPauses(() => 0);
  const inForce = asked.ask(`model:${MODEL}`);
  asked.resume(`model:${MODEL}`);
  inForce();
  expect(asked.keepingBack(MODEL, [], 10)).toBeNull();
});

it("detects a requested pause that an automatic one replaced, and one that is gone", () => {
  const asked = new AskedPauses(() => 0);
  asked.ask("all")();
  const known = { submissions: new Map<string, Submission>(), retries: new Retries() };
  expect(asked.flawIn(["pauses", "update", "all", "daily_limit", 5], known)).toContain("became one of daily_limit");
  expect(asked.flawIn(["pauses", "delete", "all", "requested", null], known)).toContain("is gone");
  expect(asked.flawIn(["pauses", "update", "all", "requested", null], known)).toBeNull();
});

it("rejects a second payment while D1 knows a batch that is neither stuck nor over", () => {
  const version = versionOf("a");
  const first = dispatchOf("job_1");
  first.requestId = "batch-1";
  first.takenAt = 0;
  expect(paymentFlaw(version, first, 0)).toBeNull();
  expect(paymentFlaw(version, dispatchOf("job_2"), MINUTE)).toBeNull();
  first.isConfirmed = true;
  expect(paymentFlaw(version, dispatchOf("job_3"), MINUTE)).toContain("batch-1 of job_1 has it");
  expect(paymentFlaw(version, dispatchOf("job_4"), 60 * MINUTE)).toBeNull();
  first.reported.add("over");
  expect(paymentFlaw(version, dispatchOf("job_5"), MINUTE)).toBeNull();
});

it("allows a second payment for a document without a result in the answer", () => {
  const version = versionOf("a");
  const first = dispatchOf("job_1");
  first.isConfirmed = true;
  first.takenAt = 0;
  first.unusable.add(version.key);
  paymentFlaw(version, first, 0);
  expect(paymentFlaw(version, dispatchOf("job_2"), MINUTE)).toBeNull();
});

it("rejects a dispatch start at which its Worker was not running", () => {
  const row = (at: number) => ({ id: "job_1", dispatch_number: 2, dispatched_at: at }) as JobRow;
  timeline.now = 2_000;
  expect(startTimeFlaw(row(1_000), by, 2_000)).toBeNull();
  // The maximum skew of a Worker's clock.
  expect(startTimeFlaw(row(-19_000), by, 2_000)).toBeNull();
  expect(startTimeFlaw(row(-19_001), by, 2_000)).toContain("dispatch 2 of job_1 has the start -19001");
  expect(startTimeFlaw(row(22_001), by, 2_000)).toContain("22001");
});

it("detects a submit that may outlast its lease", () => {
  const dispatch = dispatchOf("job_1");
  // This leaves a minute for the call and 20 s for clock skew.
  expect(submitFlaw(dispatch, 1_000 + 80_000)).toBeNull();
  expect(submitFlaw(dispatch, 1_000 + 80_001)).toContain("80001 ms after its start");
});

it("detects a chain that is taken from a live run", () => {
  const chain = new Chain();
  const change = (event: "insert" | "update" | "delete", token: string, at: number) =>
    ["heartbeats", event, "chain", token, at] as const;
  const holder = new Invocation(timeline, "poller", 2, 0);
  expect(chain.take(change("insert", "a", 0), holder, 0)).toBeNull();
  expect(chain.take(change("update", "b", 1_000), holder, 1_000)).toBeNull();
  expect(chain.take(change("update", "c", 92_000), by, 92_000)).toBeNull();
  expect(chain.take(change("delete", "c", 92_000), holder, 93_000)).toContain("deletes the chain of another run");
  expect(new Chain().take(["heartbeats", "update", "poller", null, 5], by, 5)).toBeNull();
});

it("detects memory that a Worker leaves held, unless it died", () => {
  const limit = new MemoryLimit();
  const memory = new HeldMemory(limit);
  const [living, dead] = [new Invocation(timeline, "poller", 3, 0), new Invocation(timeline, "poller", 4, 0)];
  const release = limit.hold(10, 0);
  expect(memory.flawAtEnd(living, [dead])).toBeNull();
  expect(memory.flawAtEnd(living, [])).toContain("10 bytes of memory are held");
  release?.();
  limit.hold(20, 0);
  dead.die();
  expect(memory.flawAtEnd(dead, [])).toBeNull();
  expect(memory.flawAtEnd(living, [])).toBeNull();
  limit.hold(1, 0);
  expect(memory.flawAtEnd(living, [])).toContain("21 bytes");
});

it("detects repeated, missing and misplaced lines in lists", () => {
  expect(listFlaw("a list", ["a", "b"], ["a", "b"])).toBeNull();
  expect(listFlaw("a list", ["a", "b"], ["b", "a"])).not.toBeNull();
  expect(listFlaw("a list", ["a", "b"], ["a", "b", "b"])).toContain("continue after their end");
  expect(listFlaw("a list", [], undefined)).toContain("are not answered");
  expect(bagFlaw("a list", ["a", "b"], ["b", "a"])).toBeNull();
  expect(bagFlaw("a list", ["a", "b"], ["b", "a", "a"])).not.toBeNull();
});
