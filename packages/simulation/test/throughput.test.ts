import { openDatabase } from "@sluice/db";
import { countEndedSince } from "@sluice/pipeline/submission/sql/read-totals.ts";
import { describe, expect, it } from "vitest";
import { simulatedD1 } from "../src/d1/simulated-d1.ts";
import { Sqlite } from "../src/d1/sqlite.ts";

const NOW = 1_790_000_000_000;

interface EndedJob {
  readonly id: string;
  readonly status: string;
  readonly documents: number;
  readonly parent?: string;
  readonly createdAt: number;
  readonly endedAt: number;
}

async function throughputOf(jobs: readonly EndedJob[], since: number): Promise<number | undefined> {
  const sqlite = new Sqlite();
  const ignore = () => undefined;
  const db = openDatabase(simulatedD1(sqlite, async (_, work) => work(), ignore, ignore));
  for (const [index, { id, status, documents, parent, createdAt, endedAt }] of jobs.entries()) {
    sqlite.rows(
      `INSERT INTO jobs (id, model, lane, status, parent_id, round, document_count, context_count, payload_bytes,
         created_at, ended_at, finalized_sequence, members)
       VALUES (?, '@cf/baai/bge-m3', 'bulk', ?, ?, 1, ?, 1, 1, ?, ?, ?, '[]')`,
      id,
      status,
      parent ?? null,
      documents,
      createdAt,
      endedAt,
      index + 1,
    );
  }
  const [ended] = await countEndedSince(db, [since]);
  return ended;
}

describe("the throughput", () => {
  it("omits a split job, even if a document of its pieces was deleted later", async () => {
    const pieces = [2, 1].map((documents, index) => ({
      id: `piece-${index}`,
      status: "succeeded",
      documents,
      parent: "split",
      createdAt: NOW,
      endedAt: NOW + 1,
    }));
    const split = { id: "split", status: "split", documents: 4, createdAt: NOW - 1, endedAt: NOW };
    expect(await throughputOf([split, ...pieces], NOW - 1)).toBe(3);
  });

  it("counts the documents that jobs ended since the given time, without follow-ups", async () => {
    const early = { id: "early", status: "succeeded", documents: 7, createdAt: NOW - 9, endedAt: NOW - 8 };
    const job = { id: "job", status: "succeeded", documents: 5, createdAt: NOW - 1, endedAt: NOW };
    const followUp = { id: "next", status: "failed", documents: 2, parent: "job", createdAt: NOW, endedAt: NOW + 3 };
    expect(await throughputOf([early, job, followUp], NOW)).toBe(5);
    expect(await throughputOf([early, job, followUp], NOW + 1)).toBe(2);
  });
});
