-- Polls and dispatches are claimed apart, each by the time that it is due.
DROP INDEX `jobs_due`;--> statement-breakpoint
CREATE INDEX `jobs_due` ON `jobs` (`lane`,status = 'dispatched',`due_at`) WHERE due_at IS NOT NULL;