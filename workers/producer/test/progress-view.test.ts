import { env } from "cloudflare:test";
import { expect, it } from "vitest";
import { type SubmissionShape } from "../src/shapes/submission.ts";
import { submissionStatuses } from "@sluice/core";
import { NOW } from "./api.ts";
import { allPages } from "./stored.ts";

const upTo = (limit: number) => Array.from({ length: limit + 1 }, (_, value) => value);

/** Every combination of counters that the table accepts, with up to two documents. */
function counters(): readonly (readonly number[])[] {
  return upTo(2).flatMap((total) =>
    upTo(total).flatMap((recorded) =>
      upTo(total - recorded).flatMap((lost) =>
        upTo(recorded).flatMap((succeeded) =>
          upTo(recorded - succeeded).flatMap((failed) =>
            upTo(recorded - succeeded - failed).map((canceled) => [total, recorded, lost, succeeded, failed, canceled]),
          ),
        ),
      ),
    ),
  );
}

/**
 * A submission in every possible state: open or closed, canceled or not, with each combination of counters; with a retry if
 * a document failed.
 */
async function insertEveryState(): Promise<number> {
  const rows = [0, 1].flatMap((closed) =>
    [0, 1].flatMap((canceling) =>
      counters().map((counts, index) => {
        const [total = 0, , lost = 0, succeeded = 0, failed = 0, canceled = 0] = counts;
        const completed = closed === 1 && succeeded + failed + canceled + lost === total;
        return [
          [closed, canceling, String(index).padStart(10, "0")].join(""),
          closed === 1 ? NOW + 2 : null,
          canceling === 1 ? NOW + 3 : null,
          completed ? NOW + 4_567 : null,
          index % 2,
          index % 3 === 0 ? null : `label ${index}`,
          ...counts,
        ];
      }),
    ),
  );
  await env.DB.prepare(
    `INSERT INTO submissions (id, collection, model, lane, truncate_inputs, created_at, active_at, tokens, jobs,
       unconfirmed_dispatches, closed_at, cancel_requested_at, completed_at, incomplete, label,
       total, recorded, lost, succeeded, failed, canceled)
     SELECT 'sub_01999999-0000-7000-8000-' || (value ->> 0), 'c', '@cf/baai/bge-m3', 'bulk', 1, ?1 + key, ?1, 5 * key, key, key % 4,
       value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
       value ->> 6, value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11
     FROM json_each(?2)`,
  )
    .bind(NOW, JSON.stringify(rows))
    .run();
  await env.DB.exec(
    `INSERT INTO retries (submission_id, code, token, requested_at, documents)
     SELECT id, 'no_answer', 't', 1, 1 FROM submissions WHERE failed = 1 AND cancel_requested_at IS NULL`.replaceAll(
      "\n",
      " ",
    ),
  );
  return rows.length;
}

it("the view submissions_progress shows submissions in every state as the API does", async () => {
  const states = await insertEveryState();
  const shown = (await allPages<SubmissionShape>("/v1/submissions?limit=100")).flat();
  expect(shown).toHaveLength(states);
  expect(new Set(shown.map(({ status }) => status))).toEqual(new Set(submissionStatuses));
  const retried = shown.filter(({ retry }) => retry !== null);
  expect(new Set(retried.map(({ status }) => status))).toEqual(new Set(["receiving", "processing"]));
  const { results } = await env.DB.prepare("SELECT * FROM submissions_progress ORDER BY submission_id DESC").all();
  expect(results).toEqual(
    shown.map(
      ({ id, collection, model, lane, label, status, counts, incomplete, usage, created_at, completed_at }) => ({
        submission_id: id,
        collection,
        model,
        lane,
        label,
        status,
        ...counts,
        incomplete: Number(incomplete),
        ...usage,
        created_at,
        completed_at,
      }),
    ),
  );
});
