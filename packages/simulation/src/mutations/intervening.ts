import { mutation, withKind, type Mutation } from "./mutation.ts";

const SWEEP = "packages/pipeline/src/submission/sql/sweep-submissions.ts";
const LOST = "packages/pipeline/src/submission/sql/count-lost.ts";
const COUNTED = "workers/producer/src/push/counted-parts.ts";

/** Cancel, delete, what stands still, and pushes. */
export const INTERVENING: readonly Mutation[] = [
  mutation(
    "delete-not-counted",
    "a deleted document that had not ended counts as nothing",
    "packages/pipeline/src/document/sql/delete-document.ts",
    "canceled = canceled + 1,",
    "canceled = canceled,",
  ),
  mutation(
    "delete-leaves-outcome",
    "a deleted document keeps its scores",
    "packages/pipeline/src/document/sql/delete-document.ts",
    "sql`DELETE FROM outcomes WHERE ${key}`,",
    "",
  ),
  mutation(
    "delete-leaves-texts",
    "a deleted document's texts stay where they lie",
    "packages/pipeline/src/document/sql/delete-document.ts",
    "SET texts = json_replace(texts, (",
    "SET texts = coalesce(texts, (",
  ),
  mutation(
    "cancel-ignored-at-start",
    "a dispatch sends documents of a canceled submission",
    "packages/pipeline/src/job/sql/start-dispatch.ts",
    "CROSS JOIN submissions s ON s.id = g.value ->> 0 AND s.cancel_requested_at IS NULL",
    "CROSS JOIN submissions s ON s.id = g.value ->> 0",
  ),
  mutation(
    "cancel-ignored-at-recording",
    "a part of a canceled submission is dispatched",
    "packages/pipeline/src/message/sql/record-parts.ts",
    "WHERE s.cancel_requested_at IS NULL AND ${guard} HAVING count(*) > 0",
    "WHERE ${guard} HAVING count(*) > 0",
  ),
  mutation(
    "resume-hurries-all",
    "resuming one thing makes every job due that waits for something else",
    "packages/pipeline/src/job/sql/pause-dispatching.ts",
    "FROM jobs INDEXED BY jobs_paused WHERE paused_by IS NOT NULL AND paused_by IN (${scopes})) released",
    "FROM jobs WHERE status = 'pending') released",
  ),
  mutation(
    "resume-forgets-held",
    "a pause ends and what it held is never due",
    "packages/pipeline/src/job/sql/pause-dispatching.ts",
    "await transact<Pause>(db, endPauses(sql`SELECT ${scope}`, now));",
    "await transact<Pause>(db, endPauses(sql`SELECT ${scope}`, now).slice(1));",
  ),
  mutation(
    "held-by-ended-pause",
    "a job is held by a pause that was resumed meanwhile",
    "packages/pipeline/src/job/sql/pause-dispatching.ts",
    "WHERE EXISTS (SELECT 1 FROM pauses WHERE scope = ${scope}) AND id IN (",
    "WHERE id IN (",
  ),
  mutation(
    "abandoned-stays-open",
    "a push that broke off is never closed",
    SWEEP,
    "(active_at < ${times.abandonedBefore} OR active_at > ${times.now + WRONG_CLOCK_MS})",
    "active_at < 0",
  ),
  mutation(
    "lost-never-counted",
    "documents whose message is lost are never given up",
    SWEEP,
    "active_at < ${times.lostBefore}",
    "active_at < 0",
  ),
  mutation(
    "lost-too-soon",
    "documents are given up for lost though they are not missing any more",
    LOST,
    "s.total - s.recorded - ${stagedDocuments(sql`s.id`)} AS documents",
    "s.total AS documents",
  ),
  mutation(
    "lost-but-canceling",
    "a canceled submission whose message is lost stays so and never ends",
    LOST,
    "AND closed_at IS NOT NULL AND recorded + lost < total))",
    "AND closed_at IS NOT NULL AND recorded + lost < total AND cancel_requested_at IS NULL))",
  ),
  mutation(
    "staged-part-forgotten",
    "a staged part whose message is lost is not recorded",
    "packages/pipeline/src/submission/maintenance.ts",
    "&& (await recordStagedParts(io, now))",
    "&& now < 0 && (await recordStagedParts(io, now))",
  ),
  mutation(
    "accepted-before-sent",
    "a push is answered as accepted though the Queue did not take it",
    "workers/producer/src/push/close-push.ts",
    "    return failure;\n  }",
    "    return null;\n  }",
  ),
  mutation(
    "total-after-send",
    "a send does not wait for its total, so that what is recorded may exceed it",
    "workers/producer/src/push/call-rounds.ts",
    'if (raise !== null && !(await raiseTotal(db, submission, raise, databaseTime(), holder, sent))) return "taken";',
    "if (raise !== null) void raiseTotal(db, submission, raise, databaseTime(), holder, sent).catch(() => undefined);",
  ),
  withKind(
    "resending",
    mutation(
      "closed-by-former-holder",
      "a push that was taken over is answered as accepted by the request that had it before",
      "packages/pipeline/src/submission/sql/close-submission.ts",
      'if (row === undefined) return "taken";',
      'if (row === undefined) return "closed";',
    ),
  ),
  withKind(
    "resending",
    mutation(
      "taken-over-stays-added-up",
      "a push that ended as incomplete stays in the sums as it was, though it goes on",
      "packages/pipeline/src/submission/sql/take-over-push.ts",
      "...unrollSubmission(id, sql`incomplete AND ${free}`),",
      "",
    ),
  ),
  withKind("resuming", {
    name: "counted-by-prefix",
    breaks: "a resumed push takes the documents that total counts for its first ones, whatever their parts are",
    replacements: [
      {
        file: COUNTED,
        find: "total - counted.reduce((sum, { documents }) => sum + documents, 0)",
        replace: "total",
      },
      {
        file: COUNTED,
        find: "this.#known.delete(part);",
        replace: "this.#known.delete(part); this.#ahead = Math.max(0, this.#ahead - documents);",
      },
      {
        file: COUNTED,
        find: "if (this.#ahead < documents) return null;",
        replace:
          'if (this.#ahead < documents) { const uncounted = documents - this.#ahead; this.#ahead = 0; return { state: "unknown", uncounted }; }',
      },
    ],
  }),
  withKind(
    "resuming",
    mutation(
      "staged-counted-as-inline",
      "a resumed push takes inline parts for counted in the place of staged ones",
      "packages/pipeline/src/submission/sql/take-over-push.ts",
      "WHERE s.submission_id = ${id} AND NOT ${isRecorded(sql`s.part`)}",
      "WHERE s.submission_id = '' AND NOT ${isRecorded(sql`s.part`)}",
    ),
  ),
  mutation(
    "key-opens-twice",
    "two pushes with one new key are both opened",
    "packages/pipeline/src/submission/sql/open-submission.ts",
    "WHERE api_key = ${apiKey} AND key = ${key} AND created_at > ${expiry})",
    "WHERE api_key = ${apiKey} AND key = ${key} AND created_at > ${expiry} + 1e12)",
  ),
];
