import { externalReference, FAILURES, MAX_ROUNDS, mintJobId, type FailureCode } from "@sluice/core";
import { groupMembers } from "../job/members.ts";
import { rankScores } from "./rank-scores.ts";
import type { ChildJob, JobEnd, Outcome } from "../job/job-end.ts";
import type { ClaimedJob } from "../job/sql/claim-due-jobs.ts";
import type { JobDocument } from "../job/sql/read-job-documents.ts";
import { matchAnswer, type AnswerItem } from "@sluice/inference";

/** Codes that blame the document itself: another round would give the same result. */
const FINAL: ReadonlySet<FailureCode> = new Set<FailureCode>(["invalid_input", "too_large"]);

/**
 * Applies an answer to a job: creates an outcome for each document with a result, and one follow-up job for the
 * documents without one, until their rounds are used up. `documents` is the list that was sent. A `null` in it is a
 * document that was deleted since, and its result is dropped.
 */
export function applyAnswer(
  job: Pick<ClaimedJob, "round">,
  documents: readonly (JobDocument | null)[],
  items: readonly AnswerItem[],
  more: {
    readonly tokens: number | null;
    readonly now: number;
    readonly followUpAt: number;
    readonly randomBytes: (count: number) => Uint8Array;
  },
): JobEnd {
  const results = matchAnswer(
    items,
    documents.map((document) => ({
      reference: document === null ? "" : externalReference(document.submission, document.index),
      contexts: document?.contexts ?? 0,
    })),
  );
  const outcomes: Outcome[] = [];
  const again: JobDocument[] = [];
  for (const [index, document] of documents.entries()) {
    const result = results[index];
    if (document === null || result === undefined) continue;
    const { submission, document: id } = document;
    if (result.kind === "scored") {
      outcomes.push({ submission, document: id, scores: rankScores(result.scores, document.contextIds) });
    } else if (FINAL.has(result.code) || job.round >= MAX_ROUNDS) {
      const message = result.message ?? FAILURES[result.code].message;
      outcomes.push({ submission, document: id, code: result.code, message });
    } else {
      again.push(document);
    }
  }
  const children: ChildJob[] =
    again.length === 0
      ? []
      : [
          {
            id: mintJobId(more.now, more.randomBytes(10)),
            round: job.round + 1,
            members: groupMembers(again),
            dueAt: more.followUpAt,
          },
        ];
  return { status: "succeeded", outcomes, children, tokens: more.tokens, error: null };
}
