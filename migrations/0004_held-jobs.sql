-- A job that a pause holds back carries the scope of the pause, and is not due before the pause ends.
ALTER TABLE `jobs` ADD `paused_by` text CONSTRAINT "jobs_paused_by" CHECK("paused_by" IS NULL OR "status" = 'pending');--> statement-breakpoint
CREATE INDEX `jobs_paused` ON `jobs` (`paused_by`) WHERE paused_by IS NOT NULL;
