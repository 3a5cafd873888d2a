import { alertKinds } from "@sluice/pipeline/platform/alert-rules.ts";
import { CHECKED_ALERTS } from "../../src/cli/diagnosis.ts";
import { expect } from "vitest";
import { readSamples } from "../../src/cli/open-metrics.ts";
import type { Stats, Submission } from "../../src/types.ts";
import { problem } from "../fake-api.ts";
import { statsOf, submissionOf } from "../shapes.ts";
import { records, steady, TABLE, test, type Bench } from "./run.ts";

const MINUTE = 60_000;
const before = (milliseconds: number) => new Date(Date.now() - milliseconds).toISOString();

interface Answers {
  readonly ready?: () => Response;
  readonly stats?: (() => Response) | Partial<Stats>;
  readonly metrics?: (() => Response) | readonly string[];
  readonly stalled?: readonly Submission[];
}

/** The answers to the four requests of the command: those of a healthy deployment, and others instead. */
function answer({ api }: Bench, { ready, stats = {}, metrics = [], stalled = [] }: Answers = {}): void {
  const healthy = { ...statsOf([], "workers-ai"), poller: { last_run_at: before(20_000) } };
  api.instead.push(
    ready ?? (() => Response.json({ status: "ok" })),
    typeof stats === "function" ? stats : () => Response.json({ ...healthy, ...stats }),
    typeof metrics === "function" ? metrics : () => new Response([...metrics, "# EOF\n"].join("\n")),
    () => Response.json({ data: stalled, next_cursor: null }),
  );
}

const doctor = async (bench: Bench, answers: Answers = {}) => {
  answer(bench, answers);
  const { code, stdout, stderr } = await bench.run(["doctor", ...TABLE]);
  expect(bench.api.instead).toEqual([]);
  return { code, stderr, text: steady(stdout) };
};
const named = async (bench: Bench, answers: Answers) => {
  answer(bench, answers);
  const { code, stdout } = await bench.run(["doctor"]);
  const [report] = records(stdout) as { healthy: boolean; problems: { name: string; since: string | null }[] }[];
  expect([code, report?.healthy]).toEqual(report?.problems.length === 0 ? [0, true] : [1, false]);
  return (report?.problems ?? []).map(({ name, since }) => ({ name, since }));
};

test("doctor checks every alert of the poller", () => {
  expect(CHECKED_ALERTS).toEqual(alertKinds);
});

test("doctor says that a deployment is healthy, with its main figures", async ({ bench }) => {
  const metrics = ["sluice_database_size_bytes 1900000000", "sluice_database_limit_bytes 9500000000"];
  const { code, text, stderr } = await doctor(bench, { metrics });
  expect([code, stderr]).toEqual([0, ""]);
  expect(text).toBe(`Healthy: ${bench.env["SLUICE_URL"]}

poller ran N ago
backlog 0 documents in 0 jobs
ended 0 in 5 minutes, 0 in an hour
database 1.9 GB of 9.5 GB (20 %)
`);
});

test("doctor says what is wrong, since when, what it means and what to do", async ({ bench }) => {
  const since = before(25 * MINUTE);
  const pause = { scope: "model:@cf/a/b", reason: "configuration", message: "10000: Authentication error" } as const;
  const { code, text } = await doctor(bench, {
    ready: () => problem(503, "unavailable", {}, { "retry-after": "60" }),
    stats: { poller: { last_run_at: since }, pauses: [{ ...pause, since, until: null }], malformed_messages: 2 },
  });
  expect(code).toBe(1);
  expect(text).toContain("3 problems: http");
  expect(text).toContain(`
poller_silent for 25 min, since ${since}
 The poller does not run. It should run every minute.
 Batches are not polled and nothing is dispatched again.`);
  expect(text).toContain("refuses the account or the model @cf/a/b: 10000: Authentication error");
  expect(text).toContain("→ Then, not to wait: sluice resume --model @cf/a/b\n");
  expect(text).toContain("messages_quarantined\n 2 messages were put aside");
  expect(text).toContain("paused model:@cf/a/b (configuration)");
});

test("doctor --json prints the same for programs", async ({ bench }) => {
  answer(bench, { stats: { poller: null } });
  const { code, stdout } = await bench.run(["doctor", "--json", ...TABLE]);
  expect([code, records(stdout)]).toMatchObject([
    1,
    [
      {
        healthy: false,
        notes: [],
        problems: [{ name: "poller_silent", since: null, what: "The poller has never run." }],
      },
    ],
  ]);
});

test("doctor names a problem only if its figures say so", async ({ bench }) => {
  const pause = { scope: "all", message: null, since: before(0), until: null };
  const healthy: Answers[] = [
    { stats: { poller: { last_run_at: before(4 * MINUTE) } } },
    { stats: { pauses: [{ ...pause, reason: "requested" }] } },
    { stats: { pauses: [{ ...pause, reason: "daily_limit" }] } },
    { metrics: ['sluice_database_level{level="high"} 1', 'sluice_database_level{level="full"} 0'] },
    { metrics: ['sluice_queue_oldest_message_age_seconds{lane="bulk"} 1800'] },
    // Raised and over: the checks are newer.
    { metrics: ['sluice_alert_age_seconds{alert="poller_silent",subject=""} 900'] },
    { stats: { oldest_waiting_at: before(59 * MINUTE) } },
    { stats: { oldest_waiting_at: before(61 * MINUTE), throughput: { last_5_minutes: 0, last_hour: 1 } } },
    { stats: { oldest_waiting_at: before(61 * MINUTE), pauses: [{ ...pause, reason: "requested" }] } },
  ];
  for (const answers of healthy) expect(await named(bench, answers), JSON.stringify(answers)).toEqual([]);
});

test("doctor finds what only the metrics, the submissions or readiness show", async ({ bench }) => {
  const anyTime = expect.any(String) as string;
  const stalled = { missing: 3, since: before(20 * MINUTE) };
  const submission = { ...submissionOf("sub_1", [], new URLSearchParams()), stalled };
  const cases: [Answers, { name: string; since: string | null }][] = [
    [{ stalled: [submission] }, { name: "submissions_stalled", since: stalled.since }],
    [{ metrics: ["sluice_stalled_submissions 1"] }, { name: "submissions_stalled", since: null }],
    [
      { metrics: ['sluice_database_level{level="full"} 1', "sluice_database_level_age_seconds 60"] },
      { name: "database_full", since: anyTime },
    ],
    [{ metrics: ['sluice_database_level{level="pressure"} 1'] }, { name: "database_pressure", since: null }],
    [
      { metrics: ['sluice_alert_age_seconds{alert="jobs_stuck",subject=""} 60'] },
      { name: "jobs_stuck", since: anyTime },
    ],
    [
      { metrics: ['sluice_queue_oldest_message_age_seconds{lane="bulk"} 1801'] },
      { name: "queue_not_read", since: anyTime },
    ],
    [{ metrics: ['sluice_alert_age_seconds{alert="new",subject="x"} 60'] }, { name: "new", since: anyTime }],
    [{ stats: { oldest_waiting_at: before(61 * MINUTE) } }, { name: "backlog_idle", since: anyTime }],
    [
      { ready: () => problem(503, "unavailable", { detail: "The database lacks x." }) },
      { name: "not_ready", since: null },
    ],
  ];
  for (const [answers, expected] of cases) expect(await named(bench, answers)).toEqual([expected]);
});

test("doctor says whether a full database resolves itself, to keys that may not read metrics too", async ({
  bench,
}) => {
  const full = { level: "full", bytes: 97, limit_bytes: 100, since: before(25 * MINUTE) } as const;
  const detail = "The database is full: 97 % of MAX_DATABASE_BYTES.";
  const answers = (more: string): Answers => ({
    ready: () => problem(503, "unavailable", { detail: `${detail}${more}` }),
    stats: { database: full },
    metrics: () => problem(403, "forbidden"),
  });
  const first = await doctor(bench, answers(""));
  expect(first.text).toContain(`database_full for 25 min, since ${full.since}\n`);
  expect(first.text).toContain("→ Delete what is not needed, or shorten the retention");
  expect(first.text).not.toContain("resolve itself");
  const lasting = await doctor(bench, answers(" Set or lower RETAIN_SCORES_DAYS of the poller."));
  expect(lasting.text).toContain("This does not resolve itself: only scores that are kept remain.");
  expect(lasting.text).toContain("→ Set or lower RETAIN_SCORES_DAYS of the poller, or delete a collection.");
});

test("doctor names what the key may not read, and checks the rest", async ({ bench }) => {
  const { code, text, stderr } = await doctor(bench, { metrics: () => problem(403, "forbidden") });
  expect(stderr).toBe("Skipped metrics: Detail of forbidden.\n");
  expect([code, text]).toEqual([0, expect.stringMatching(/^Healthy/)]);
  const limited = await doctor(bench, {
    ready: () => problem(503, "unavailable", { detail: "The poller has never run." }),
    stats: () => problem(403, "forbidden"),
    metrics: () => problem(403, "forbidden"),
  });
  expect(limited.code).toBe(1);
  expect(limited.text).toContain("not_ready\n The poller has never run.");
});

test("doctor ends with 2 if the API cannot be asked", async ({ bench }) => {
  bench.api.instead.push(
    () => Response.json({ status: "ok" }),
    () => problem(401, "unauthorized"),
  );
  const wrongKey = await bench.run(["doctor"]);
  expect([wrongKey.code, wrongKey.stdout]).toEqual([2, ""]);
  expect(wrongKey.stderr).toContain("Check SLUICE_URL and SLUICE_API_KEY.");
  bench.env = { ...bench.env, SLUICE_API_KEY: "" };
  expect((await bench.run(["doctor"])).code).toBe(2);
  bench.env = { ...bench.env, SLUICE_API_KEY: "k", SLUICE_URL: "http://127.0.0.1:1" };
  expect((await bench.run(["doctor"])).code).toBe(2);
});

test("samples of OpenMetrics are read with their labels", () => {
  const text = '# TYPE a gauge\na{x="1",y="a\\"b\\\\n\\nc"} 2\nb_total 1e3\nbad\n# EOF\n';
  expect(readSamples(text)).toEqual([
    { name: "a", labels: { x: "1", y: 'a"b\\n\nc' }, value: 2 },
    { name: "b_total", labels: {}, value: 1_000 },
  ]);
});
