-- Which request opened a submission: a repeated try finds its row by it, whatever any clock says.
ALTER TABLE `submissions` ADD `opened_by` text;--> statement-breakpoint
-- Retries that are not through. What is queued again leaves `retry_parts` in the same transaction.
CREATE TABLE `retries` (
	`submission_id` text NOT NULL,
	`code` text NOT NULL,
	`token` text NOT NULL,
	`requested_at` integer NOT NULL,
	`documents` integer NOT NULL,
	`queued` integer DEFAULT 0 NOT NULL,
	`listed_through` text,
	PRIMARY KEY(`submission_id`, `code`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `retry_parts` (
	`submission_id` text NOT NULL,
	`code` text NOT NULL,
	`root_id` text NOT NULL,
	`part` integer NOT NULL,
	`documents` integer NOT NULL,
	PRIMARY KEY(`submission_id`, `code`, `root_id`, `part`)
) WITHOUT ROWID;--> statement-breakpoint
-- What a push under a key has sent: it is compared when the push is resumed, also while the Queue has it.
CREATE TABLE `sent_parts` (
	`submission_id` text NOT NULL,
	`part` integer NOT NULL,
	`hashes` text NOT NULL,
	PRIMARY KEY(`submission_id`, `part`)
) WITHOUT ROWID;
