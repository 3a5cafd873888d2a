CREATE TABLE `alerts` (
	`name` text PRIMARY KEY NOT NULL,
	`since` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `collection_deletions` (
	`collection` text PRIMARY KEY NOT NULL,
	`through` text NOT NULL,
	`requested_at` integer NOT NULL,
	`cursor` text,
	`deleted_documents` integer DEFAULT 0 NOT NULL,
	`completed_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `collection_deletions_open` ON `collection_deletions` (`requested_at`) WHERE completed_at IS NULL;--> statement-breakpoint
CREATE TABLE `database_size` (
	`id` integer PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL,
	`level` text NOT NULL,
	`since` integer NOT NULL,
	`measured_at` integer NOT NULL,
	`limit_bytes` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `high_water_marks` (
	`id` integer PRIMARY KEY NOT NULL,
	`contexts_id` integer DEFAULT 0 NOT NULL,
	`finalized_sequence` integer DEFAULT 0 NOT NULL,
	`submission_id` text DEFAULT '' NOT NULL
);
--> statement-breakpoint
CREATE TABLE `retention_progress` (
	`task` text PRIMARY KEY NOT NULL,
	`cursor` text,
	`started_at` integer,
	`ended_at` integer,
	`deleted` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `row_usage` (
	`worker` text PRIMARY KEY NOT NULL,
	`rows_read` integer DEFAULT 0 NOT NULL,
	`rows_written` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `text_expiries` (
	`last_id` integer PRIMARY KEY NOT NULL,
	`first_id` integer NOT NULL,
	`expired_at` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `contexts` ADD `parts` text;--> statement-breakpoint
CREATE INDEX `contexts_unlisted` ON `contexts` (`id`) WHERE parts IS NULL;--> statement-breakpoint
ALTER TABLE `submissions` ADD `forgotten` integer DEFAULT 0 NOT NULL;
