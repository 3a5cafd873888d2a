import { mutation, withKind, type Mutation } from "./mutation.ts";

/** Cancellations, deletions, stalls, pauses and pushes. */
export const INTERVENING: readonly Mutation[] = [
  mutation(
    "delete-not-counted",
    "a deleted document that had not ended is not counted",
    "deleteDocument",
    "canceled = canceled + 1,",
    "canceled = canceled,",
  ),
  mutation(
    "delete-leaves-outcome",
    "a deleted document keeps its scores",
    "deleteDocument",
    "sql`DELETE FROM outcomes WHERE ${key}`,",
    "",
  ),
  mutation(
    "delete-leaves-texts",
    "a deleted document keeps its texts",
    "deleteDocument",
    "SET texts = json_replace(texts, (",
    "SET texts = coalesce(texts, (",
  ),
  mutation(
    "cancel-ignored-at-start",
    "a dispatch sends documents of a canceled submission",
    "listLive",
    "CROSS JOIN submissions s ON s.id = ${memberSubmission} AND s.cancel_requested_at IS NULL",
    "CROSS JOIN submissions s ON s.id = ${memberSubmission}",
  ),
  mutation(
    "cancel-ignored-at-recording",
    "a part of a canceled submission is dispatched",
    "recordParts",
    "WHERE s.cancel_requested_at IS NULL AND ${guard} HAVING count(*) > 0",
    "WHERE ${guard} HAVING count(*) > 0",
  ),
  mutation(
    "resume-hurries-all",
    "a resume of one scope makes all pending jobs due",
    "endPauses",
    "FROM jobs INDEXED BY jobs_paused WHERE paused_by IS NOT NULL AND paused_by IN (${scopes})) released",
    "FROM jobs WHERE status = 'pending') released",
  ),
  mutation(
    "resume-forgets-held",
    "a pause ends, but the jobs it held are never due",
    "resumeDispatching",
    "await transact<Pause>(db, endPauses(sql`SELECT ${scope}`, now));",
    "await transact<Pause>(db, endPauses(sql`SELECT ${scope}`, now).slice(1));",
  ),
  mutation(
    "held-by-ended-pause",
    "a job is held by a pause that was already resumed",
    "holdPausedJobs",
    "WHERE EXISTS (SELECT 1 FROM pauses WHERE scope = ${scope}) AND id IN (",
    "WHERE id IN (",
  ),
  mutation(
    "abandoned-stays-open",
    "an interrupted push is never closed",
    "sweepSubmissions",
    "(active_at < ${times.abandonedBefore} OR active_at > ${times.now + WRONG_CLOCK_MS})",
    "active_at < 0",
  ),
  mutation(
    "lost-never-counted",
    "documents whose message is lost are never given up",
    "sweepSubmissions",
    "active_at < ${times.lostBefore}",
    "active_at < 0",
  ),
  mutation(
    "lost-too-soon",
    "documents are counted as lost although they are no longer missing",
    "lackingDocuments",
    "s.total - s.recorded - ${stagedDocuments(sql`s.id`)} AS documents",
    "s.total AS documents",
  ),
  mutation(
    "lost-but-canceling",
    "a canceled submission whose message is lost never ends",
    "lackingDocuments",
    "AND closed_at IS NOT NULL AND recorded + lost < total))",
    "AND closed_at IS NOT NULL AND recorded + lost < total AND cancel_requested_at IS NULL))",
  ),
  mutation(
    "staged-part-forgotten",
    "a staged part whose message is lost is not recorded",
    "runMaintenance",
    "&& (await recordStagedParts(context, now))",
    "&& now < 0 && (await recordStagedParts(context, now))",
  ),
  mutation(
    "accepted-before-sent",
    "a push is answered as accepted although the Queue refused it",
    "closePush",
    "return failure; }",
    "return null; }",
  ),
  mutation(
    "total-after-send",
    "a send does not wait for its total, so the recorded documents may exceed it",
    "CallRounds.#start",
    'if (raise !== null && !(await raiseTotal(db, submission, raise, databaseTime(), holder, sent))) return "taken";',
    "if (raise !== null) void raiseTotal(db, submission, raise, databaseTime(), holder, sent).catch(() => undefined);",
  ),
  withKind(
    "resending",
    mutation(
      "closed-by-former-holder",
      "the previous request of a taken-over push answers it as accepted",
      "closeSubmission",
      'if (row === undefined) return "taken";',
      'if (row === undefined) return "closed";',
    ),
  ),
  withKind(
    "resending",
    mutation(
      "taken-over-stays-added-up",
      "the sums keep an incomplete push unchanged although it was resumed",
      "takeOverPush",
      "...unrollSubmission(id, sql`incomplete AND ${free}`),",
      "",
    ),
  ),
  withKind(
    "resuming",
    mutation(
      "recorded-part-not-compared",
      "a resumed push may replace a recorded part with another one",
      "ResumedParts.take",
      "if (known.hash !== hash) return null;",
      "",
    ),
  ),
  withKind("resuming", {
    name: "counted-by-prefix",
    breaks: "a resumed push assumes that total counts its first documents, whatever their parts are",
    replacements: [
      {
        in: "ResumedParts.constructor",
        find: "total - counted.reduce((sum, one) => sum + one.documentCount, 0)",
        replace: "total",
      },
      {
        in: "ResumedParts.take",
        find: "this.#known.delete(part);",
        replace: "this.#known.delete(part); this.#ahead = Math.max(0, this.#ahead - documentCount);",
      },
      {
        in: "ResumedParts.take",
        find: "if (this.#ahead < documentCount) return null;",
        replace:
          'if (this.#ahead < documentCount) { const uncounted = documentCount - this.#ahead; this.#ahead = 0; return { state: "unknown", uncounted }; }',
      },
    ],
  }),
  withKind(
    "resuming",
    mutation(
      "staged-counted-as-inline",
      "a resumed push assumes that inline parts were counted instead of staged ones",
      "readCountedParts",
      "WHERE s.submission_id = ${id} AND NOT ${isRecorded(sql`s.part`)}",
      "WHERE s.submission_id = '' AND NOT ${isRecorded(sql`s.part`)}",
    ),
  ),
  mutation(
    "key-opens-twice",
    "two pushes with one new key both open a submission",
    "open",
    "WHERE api_key = ${apiKey} AND key = ${key} AND created_at > ${expiry})",
    "WHERE api_key = ${apiKey} AND key = ${key} AND created_at > ${expiry} + 1e12)",
  ),
];
