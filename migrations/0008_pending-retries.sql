-- A cancellation ends the retries of its submission: those that it left before go.
DELETE FROM `retry_parts` WHERE EXISTS (
	SELECT 1 FROM `submissions` s WHERE s.id = submission_id AND s.cancel_requested_at IS NOT NULL);--> statement-breakpoint
DELETE FROM `retries` WHERE EXISTS (
	SELECT 1 FROM `submissions` s WHERE s.id = submission_id AND s.cancel_requested_at IS NOT NULL);--> statement-breakpoint
-- A submission whose retry is about to queue documents is not over.
DROP VIEW `submissions_progress`;--> statement-breakpoint
CREATE VIEW `submissions_progress` AS SELECT id AS submission_id, collection, model, lane, label,
    CAST(CASE
      WHEN completed_at IS NOT NULL AND cancel_requested_at IS NOT NULL THEN 'canceled'
      WHEN completed_at IS NOT NULL THEN iif(EXISTS (SELECT 1 FROM retries r WHERE r.submission_id = submissions.id), 'processing', 'completed')
      WHEN cancel_requested_at IS NOT NULL THEN 'canceling'
      WHEN closed_at IS NULL THEN 'receiving'
      WHEN recorded + lost = 0 THEN 'queued'
      ELSE 'processing' END AS TEXT) AS status,
    total, CAST(total - recorded - lost AS INTEGER) AS queued,
    CAST(recorded - succeeded - failed - canceled AS INTEGER) AS processing,
    succeeded, CAST(failed + lost AS INTEGER) AS failed, canceled, incomplete, tokens, jobs, unconfirmed_dispatches,
    CAST(strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS TEXT) AS created_at,
    CAST(strftime('%Y-%m-%dT%H:%M:%fZ', iif(EXISTS (SELECT 1 FROM retries r WHERE r.submission_id = submissions.id), NULL, completed_at) / 1000.0, 'unixepoch') AS TEXT) AS completed_at
  FROM submissions;
