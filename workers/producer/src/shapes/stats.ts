import { lanes, type Lane } from "@sluice/core";
import type { JobTotals, LaneTotals } from "@sluice/pipeline/submission/sql/read-totals.ts";
import type { Pause } from "@sluice/pipeline/job/sql/pause-dispatching.ts";
import type { DatabaseSize } from "@sluice/pipeline/platform/sql/database-size.ts";
import * as z from "zod";
import { databaseSchema, databaseShape } from "./database.ts";
import { pauseSchema, pauseShape } from "./pause.ts";
import { countsShape } from "./submission.ts";
import { count, time, timeSchema } from "./time.ts";

const laneSchema = z.strictObject({
  queued: count,
  processing: count,
  succeeded: count,
  failed: count,
  canceled: count,
});

/** What computes scores: Workers AI, or a local stand-in for it. */
export const scorers = ["workers-ai", "minilm", "lexical", "instant"] as const;
export type Scorer = (typeof scorers)[number];

/** Statistics over all collections, from stored counters. */
export const statsSchema = z.strictObject({
  scorer: z
    .enum(scorers)
    .describe(
      "What computes scores: `workers-ai` on Cloudflare. Locally a stand-in: `minilm` (English only), `lexical` or " +
        "`instant`. Its scores have the name of the production model but differ from that model's scores.",
    ),
  lanes: z
    .strictObject({ interactive: laneSchema, bulk: laneSchema })
    .describe("All documents ever, by lane and state."),
  backlog: z.strictObject({ documents: count, jobs: count }).describe("Documents and jobs that have not ended."),
  oldest_waiting_at: timeSchema.nullable().describe("When the oldest document of the backlog was pushed."),
  throughput: z
    .strictObject({ last_5_minutes: count, last_hour: count })
    .describe("Documents that ended with a job, of the last 6,000 jobs at most."),
  failures: z.record(z.string(), count).describe("Failed documents by code."),
  malformed_messages: count.describe("Quarantined messages, up to 1,000: see `/v1/malformed`."),
  pauses: z.array(pauseSchema),
  poller: z
    .strictObject({
      last_run_at: timeSchema.describe(
        "It may lag by 30 s: a run that starts sooner after another does not store its time.",
      ),
    })
    .nullable()
    .describe("Null if it has never run."),
  database: databaseSchema,
  usage: z.strictObject({
    tokens: count,
    jobs: count.describe("Jobs that ended."),
    unconfirmed_dispatches: count,
    repeated_dispatches: count,
  }),
});
export type StatsShape = z.infer<typeof statsSchema>;

export interface StatsFacts {
  readonly scorer: Scorer;
  readonly lanes: readonly LaneTotals[];
  readonly jobs: JobTotals;
  readonly failures: readonly { readonly code: string; readonly count: number }[];
  readonly ended: { readonly fiveMinutes: number; readonly hour: number };
  readonly malformed: number;
  readonly pauses: readonly Pause[];
  /** Milliseconds. */
  readonly lastRunAt: number | null;
  readonly size: DatabaseSize | null;
}

export function statsShape(facts: StatsFacts): StatsShape {
  const states = Object.fromEntries(lanes.map((lane) => [lane, laneStates(facts.lanes, lane)])) as StatsShape["lanes"];
  const oldest = facts.lanes.map((lane) => lane.oldestOpenAt).filter((at) => at !== null);
  const lost = facts.lanes.reduce((sum, lane) => sum + lane.lost, 0);
  return {
    scorer: facts.scorer,
    lanes: states,
    backlog: {
      documents: lanes.reduce((sum, lane) => sum + states[lane].queued + states[lane].processing, 0),
      jobs: facts.jobs.open,
    },
    oldest_waiting_at: oldest.length === 0 ? null : time(Math.min(...oldest)),
    throughput: { last_5_minutes: facts.ended.fiveMinutes, last_hour: facts.ended.hour },
    failures: {
      ...Object.fromEntries(facts.failures.map(({ code, count }) => [code, count])),
      ...(lost > 0 && { message_lost: lost }),
    },
    malformed_messages: facts.malformed,
    pauses: facts.pauses.map(pauseShape),
    poller: facts.lastRunAt === null ? null : { last_run_at: time(facts.lastRunAt) },
    database: databaseShape(facts.size),
    usage: {
      tokens: facts.jobs.tokens,
      jobs: facts.jobs.ended,
      unconfirmed_dispatches: facts.jobs.unconfirmed,
      repeated_dispatches: facts.jobs.repeated,
    },
  };
}

function laneStates(all: readonly LaneTotals[], lane: Lane): z.infer<typeof laneSchema> {
  const found = all.find((one) => one.lane === lane);
  const none = { total: 0, recorded: 0, succeeded: 0, failed: 0, canceled: 0, lost: 0 };
  const { queued, processing, succeeded, failed, canceled } = countsShape(found ?? none);
  return { queued, processing, succeeded, failed, canceled };
}
