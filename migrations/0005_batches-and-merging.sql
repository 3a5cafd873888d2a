-- Jobs that another took over, a limit to the batches that a document may be in, a way from a batch to its job,
-- and how fast batches are submitted.
CREATE TABLE `submit_rates` (
	`model` text PRIMARY KEY NOT NULL,
	`next_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `heartbeats` ADD `token` text;--> statement-breakpoint
ALTER TABLE `jobs` ADD `merged_into` text CONSTRAINT "jobs_merged" CHECK(("merged_into" IS NOT NULL) = ("status" = 'merged'));--> statement-breakpoint
ALTER TABLE `jobs` ADD `batches` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `jobs` ADD `halvings` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- What open jobs have used up of the limit already.
UPDATE `jobs` SET `batches` = `unconfirmed_dispatches` + `repeated_dispatches` + (`status` <> 'pending') WHERE `due_at` IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_request` ON `jobs` (`request_id`) WHERE status = 'dispatched';
