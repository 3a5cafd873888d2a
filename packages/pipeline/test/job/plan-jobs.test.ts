import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planJobs, weighDocument, weighPart, type PartWeight } from "../../src/job/plan-jobs.ts";
import { cut } from "../../src/job/split.ts";
import { groupMembers, listMembers } from "../../src/job/members.ts";
import {
  MAX_JOB_BYTES,
  MAX_JOB_CONTEXTS,
  MAX_JOB_DOCUMENTS,
  MAX_JOB_MEMBER_BYTES,
  MAX_JOB_OUTCOME_BYTES,
  MAX_PART_CONTEXTS,
  MAX_PART_DOCUMENTS,
  utf8Length,
  type SubmissionId,
} from "@sluice/core";
import { rankScores } from "../../src/score/rank-scores.ts";
import type { PartMessage } from "../../src/message/message.ts";

const LIMITS: PartWeight = {
  documentCount: MAX_JOB_DOCUMENTS,
  contexts: MAX_JOB_CONTEXTS,
  payloadBytes: MAX_JOB_BYTES,
  memberBytes: MAX_JOB_MEMBER_BYTES,
  outcomeBytes: MAX_JOB_OUTCOME_BYTES,
};
const dimensions = Object.keys(LIMITS) as (keyof PartWeight)[];

interface Weighed {
  readonly number: number;
  readonly weight: PartWeight;
}
const total = (parts: readonly Weighed[], dimension: keyof PartWeight) =>
  parts.reduce((sum, part) => sum + part.weight[dimension], 0);

const MAX_PART_PAYLOAD = 150_000;
/** Creates parts as in messages, with ids of 40 bytes. */
const partWeight: fc.Arbitrary<PartWeight> = fc
  .record({
    documentCount: fc.integer({ min: 1, max: MAX_PART_DOCUMENTS }),
    contextsEach: fc.integer({ min: 1, max: 20 }),
    payloadBytes: fc.integer({ min: 1_000, max: MAX_PART_PAYLOAD }),
  })
  .map(({ documentCount, contextsEach, payloadBytes }) => {
    const contexts = Math.min(documentCount * contextsEach, MAX_PART_CONTEXTS);
    return {
      documentCount,
      contexts,
      payloadBytes,
      memberBytes: 50 + documentCount * 43,
      outcomeBytes: documentCount * 163 + contexts * 32,
    };
  });
const deliveries = fc
  .array(partWeight, { minLength: 1, maxLength: 100 })
  .map((weights) => weights.map((weight, number) => ({ number, weight })));

describe("planJobs", () => {
  it("puts every part into exactly one job, in order, and keeps every job within every limit", () => {
    fc.assert(
      fc.property(deliveries, (parts) => {
        const jobs = planJobs(parts);
        expect(
          jobs
            .flat()
            .map((part) => part.number)
            .toSorted((a, b) => a - b),
        ).toEqual(parts.map((part) => part.number));
        for (const job of jobs) {
          expect(job.map((part) => part.number)).toEqual(job.map((part) => part.number).toSorted((a, b) => a - b));
          for (const dimension of dimensions) expect(total(job, dimension)).toBeLessThanOrEqual(LIMITS[dimension]);
        }
      }),
    );
  });

  it("fills every job but the last to at least 0.95 of a limit", () => {
    fc.assert(
      fc.property(deliveries, (parts) => {
        for (const job of planJobs(parts).slice(0, -1)) {
          const fill = Math.max(...dimensions.map((dimension) => total(job, dimension) / LIMITS[dimension]));
          expect(fill).toBeGreaterThanOrEqual(0.95);
        }
      }),
    );
  });

  it("makes as few jobs as full messages allow", () => {
    const full = (count: number, weight: Partial<PartWeight>) =>
      planJobs(
        Array.from({ length: count }, (_, number) => ({
          number,
          weight: { documentCount: 1, contexts: 1, payloadBytes: 1, memberBytes: 60, outcomeBytes: 200, ...weight },
        })),
      ).length;
    expect(full(100, { payloadBytes: 127_000 })).toBe(Math.ceil((100 * 127_000) / MAX_JOB_BYTES));
    expect(full(74, { payloadBytes: 127_000 })).toBe(1);
    expect(full(100, { documentCount: 500 })).toBe(5);
    expect(full(100, { contexts: 2_500 })).toBe(5);
    expect(full(100, {})).toBe(1);
  });

  it("gives a part that fills a job its own job", () => {
    const weight = {
      documentCount: 1,
      contexts: 1,
      payloadBytes: MAX_JOB_BYTES - 15,
      memberBytes: 60,
      outcomeBytes: 200,
    };
    expect(planJobs([{ weight }, { weight }])).toHaveLength(2);
  });
});

describe("weighPart", () => {
  it("counts at least the bytes of the job's list and its outcomes", () => {
    const names = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 });
    const document = fc.array(names, { minLength: 1, maxLength: 8 }).chain((contexts) =>
      fc.record({
        id: names,
        contexts: fc.constant(contexts),
        context_ids: fc.array(names, { minLength: contexts.length, maxLength: contexts.length }),
        scores: fc.array(fc.double({ noNaN: true, noDefaultInfinity: true }), {
          minLength: contexts.length,
          maxLength: contexts.length,
        }),
        bytes: fc.nat(),
      }),
    );
    const submission = "sub_01999999-0000-7000-8000-000000000000" as SubmissionId;
    fc.assert(
      fc.property(fc.array(document, { minLength: 1, maxLength: 10 }), (documents) => {
        const weight = weighPart({
          documents: documents.map((one, place) => ({ ...one, place, query: "q" })),
        } as unknown as PartMessage);
        expect(weight).toMatchObject({
          documentCount: documents.length,
          contexts: documents.reduce((sum, one) => sum + one.contexts.length, 0),
          payloadBytes: documents.reduce((sum, one) => sum + one.bytes, 0),
        });
        const member = JSON.stringify([submission, documents.map((one) => one.id)]);
        expect(weight.memberBytes).toBeGreaterThanOrEqual(utf8Length(member));
        const outcomes = documents.map((one) => [submission, one.id, rankScores(one.scores, one.context_ids)]);
        expect(weight.outcomeBytes).toBeGreaterThanOrEqual(utf8Length(JSON.stringify(outcomes)));
      }),
    );
  });
});

describe("a job's list", () => {
  const [a, b] = ["sub_a", "sub_b"] as unknown as [SubmissionId, SubmissionId];

  it("is unchanged after flattening and grouping", () => {
    const members = [
      [a, ["1", "2"]],
      [b, ["1"]],
      [a, ["3"]],
    ] as const;
    expect(listMembers(members)).toEqual([
      { submission: a, document: "1" },
      { submission: a, document: "2" },
      { submission: b, document: "1" },
      { submission: a, document: "3" },
    ]);
    expect(groupMembers(listMembers(members))).toEqual(members);
  });

  it("is split in two, or in three if that saves a level, without losing a document", () => {
    expect(cut([1], 9)).toEqual([[1]]);
    expect(cut([1, 2], 9)).toEqual([[1], [2]]);
    expect(cut([1, 2, 3], 9)).toEqual([[1], [2], [3]]);
    expect(cut([1, 2, 3, 4], 9)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(cut([1, 2, 3, 4, 5], 9)).toEqual([[1, 2], [3, 4], [5]]);
    for (let length = 1; length <= 300; length += 1) {
      const list = Array.from({ length }, (_, n) => n);
      expect(cut(list, 9).flat()).toEqual(list);
      expect(cut(list, 9).every((piece) => piece.length > 0)).toBe(true);
    }
  });

  it("is split so that each document is alone within the batches left", () => {
    const alone = (length: number, left: number): boolean =>
      length === 1 || (left > 0 && cut(Array.from({ length }), left).every((piece) => alone(piece.length, left - 1)));
    for (let left = 1; left <= 9; left += 1) {
      for (const length of [2, 3, 5, 8, 17, 100, 999, 1_000])
        expect(alone(length, left), `${length}, ${left}`).toBe(true);
    }
    expect(alone(10_000, 9)).toBe(true);
    expect(cut(Array.from({ length: 10_000 }), 9)).toHaveLength(3);
    expect(cut([1, 2, 3, 4, 5], 1)).toEqual([[1], [2], [3], [4], [5]]);
  });

  it("isolates any bad documents within 2·k·log₂N + 2 calls", () => {
    // The maximum calls to isolate k bad ones among N in any positions, computed once for every N and k.
    const worst = new Map<string, number>();
    const maxCalls = (n: number, k: number): number => {
      if (k === 0 || n === 1) return 1;
      const key = `${n} ${k}`;
      const known = worst.get(key);
      if (known !== undefined) return known;
      const pieces = cut(Array.from({ length: n }), Infinity).map((piece) => piece.length);
      // Indexed by the bad documents assigned so far: the maximum calls of the pieces so far.
      let spread = [0];
      for (const size of pieces) {
        const next = Array.from({ length: k + 1 }, () => -Infinity);
        for (const [given, calls] of spread.entries()) {
          for (let own = 0; own <= Math.min(k - given, size); own += 1) {
            next[given + own] = Math.max(next[given + own] ?? -Infinity, calls + maxCalls(size, own));
          }
        }
        spread = next;
      }
      const calls = 1 + (spread[k] ?? -Infinity);
      worst.set(key, calls);
      return calls;
    };
    for (let n = 2; n <= 1_100; n += 1) {
      for (let k = 1; k <= Math.min(n, 3); k += 1) {
        expect(maxCalls(n, k), `${k} of ${n}`).toBeLessThanOrEqual(2 * k * Math.log2(n) + 2);
      }
    }
  });
});

it("a single document weighs the same as a part of one document", () => {
  const document = { place: 3, id: "é-1", bytes: 400, query: "q", contexts: ["a", "b"], context_ids: ["x", "yé"] };
  const part = {
    v: 1,
    kind: "part",
    submission: "sub" as SubmissionId,
    lane: "bulk",
    part: 0,
    collection: "c",
  } as const;
  const whole: PartMessage = {
    ...part,
    model: "@cf/baai/bge-m3",
    truncate_inputs: true,
    hash: "h",
    documents: [document],
  };
  const contextIdBytes = utf8Length(JSON.stringify(document.context_ids));
  const alone = { id: document.id, contexts: 2, payloadBytes: 400, contextIdBytes };
  expect(weighDocument(alone)).toEqual(weighPart(whole));
});
