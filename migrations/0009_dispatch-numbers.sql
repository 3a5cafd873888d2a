-- `attempt` counted dispatches, and answers are called attempts too: a dispatch has a name of its own now.
ALTER TABLE `jobs` RENAME COLUMN `attempt` TO `dispatch_number`;--> statement-breakpoint
ALTER TABLE `jobs` RENAME COLUMN `attempts` TO `dispatches`;--> statement-breakpoint
UPDATE `jobs` SET `dispatches` = replace(`dispatches`, '{"attempt":', '{"number":') WHERE `dispatches` <> '[]';
