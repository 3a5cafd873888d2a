CREATE TABLE `documents` (
	`document_id` text NOT NULL,
	`collection` text NOT NULL,
	`submission_id` text NOT NULL,
	`part` integer NOT NULL,
	`place` integer NOT NULL,
	`payload_bytes` integer NOT NULL,
	`context_count` integer NOT NULL,
	`context_ids` text,
	`metadata` text,
	`query` text NOT NULL,
	`contexts` text NOT NULL,
	PRIMARY KEY(`document_id`, `collection`, `submission_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `folds` (
	`id` integer PRIMARY KEY NOT NULL,
	`submissions_through` text NOT NULL,
	`jobs_through` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `heartbeats` (
	`name` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`api_key` text NOT NULL,
	`key` text NOT NULL,
	`submission_id` text NOT NULL,
	`fingerprint` text,
	`created_at` integer NOT NULL,
	`status` integer,
	`answer` text,
	PRIMARY KEY(`api_key`, `key`),
	CONSTRAINT "idempotency_keys_answered" CHECK(("idempotency_keys"."status" IS NULL) = ("idempotency_keys"."answer" IS NULL))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `jobs` (
	`id` text PRIMARY KEY NOT NULL,
	`model` text NOT NULL,
	`lane` text NOT NULL,
	`status` text NOT NULL,
	`parent_id` text,
	`round` integer NOT NULL,
	`attempt` integer DEFAULT 0 NOT NULL,
	`refusals` integer DEFAULT 0 NOT NULL,
	`document_count` integer NOT NULL,
	`context_count` integer NOT NULL,
	`payload_bytes` integer NOT NULL,
	`request_id` text,
	`due_at` integer,
	`created_at` integer NOT NULL,
	`dispatched_at` integer,
	`ended_at` integer,
	`tokens` integer,
	`finalized_sequence` integer,
	`unconfirmed_dispatches` integer DEFAULT 0 NOT NULL,
	`repeated_dispatches` integer DEFAULT 0 NOT NULL,
	`attempts` text DEFAULT '[]' NOT NULL,
	`members` text NOT NULL,
	CONSTRAINT "jobs_open" CHECK(("jobs"."status" IN ('pending', 'dispatching', 'dispatched')) = ("jobs"."due_at" IS NOT NULL)),
	CONSTRAINT "jobs_ended" CHECK(("jobs"."due_at" IS NULL) = ("jobs"."ended_at" IS NOT NULL)),
	CONSTRAINT "jobs_request" CHECK("jobs"."status" <> 'dispatched' OR "jobs"."request_id" IS NOT NULL),
	CONSTRAINT "jobs_started" CHECK("jobs"."status" NOT IN ('dispatching', 'dispatched') OR "jobs"."attempt" > 0)
);
--> statement-breakpoint
CREATE INDEX `jobs_due` ON `jobs` (`lane`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_parent` ON `jobs` (`parent_id`) WHERE parent_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `jobs_finalized` ON `jobs` (`finalized_sequence`) WHERE finalized_sequence IS NOT NULL;--> statement-breakpoint
CREATE TABLE `malformed_messages` (
	`queue` text NOT NULL,
	`message_id` text NOT NULL,
	`reason` text NOT NULL,
	`received_at` integer NOT NULL,
	`body` text NOT NULL,
	PRIMARY KEY(`queue`, `message_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `outcomes` (
	`document_id` text NOT NULL,
	`collection` text NOT NULL,
	`submission_id` text NOT NULL,
	`status` text NOT NULL,
	`model` text NOT NULL,
	`attempts` integer NOT NULL,
	`job_id` text,
	`code` text,
	`message` text,
	`dispatched_at` integer,
	`finalized_at` integer NOT NULL,
	`scores` text,
	PRIMARY KEY(`document_id`, `collection`, `submission_id`),
	CONSTRAINT "outcomes_scores" CHECK(("outcomes"."status" = 'succeeded') = ("outcomes"."scores" IS NOT NULL)),
	CONSTRAINT "outcomes_code" CHECK(("outcomes"."status" = 'failed') = ("outcomes"."code" IS NOT NULL))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `outcomes_failed` ON `outcomes` (`submission_id`,`code`) WHERE status = 'failed';--> statement-breakpoint
CREATE TABLE `parts` (
	`submission_id` text NOT NULL,
	`part` integer NOT NULL,
	`job_id` text NOT NULL,
	`hash` text NOT NULL,
	`document_count` integer NOT NULL,
	`recorded_at` integer NOT NULL,
	`documents` text NOT NULL,
	PRIMARY KEY(`submission_id`, `part`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `pauses` (
	`scope` text PRIMARY KEY NOT NULL,
	`reason` text NOT NULL,
	`message` text,
	`since` integer NOT NULL,
	`until` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `staged_parts` (
	`submission_id` text NOT NULL,
	`part` integer NOT NULL,
	`staged_at` integer NOT NULL,
	`body` text NOT NULL,
	PRIMARY KEY(`submission_id`, `part`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `submissions` (
	`id` text PRIMARY KEY NOT NULL,
	`collection` text NOT NULL,
	`model` text NOT NULL,
	`lane` text NOT NULL,
	`label` text,
	`truncate_inputs` integer NOT NULL,
	`total` integer NOT NULL,
	`recorded` integer DEFAULT 0 NOT NULL,
	`succeeded` integer DEFAULT 0 NOT NULL,
	`failed` integer DEFAULT 0 NOT NULL,
	`canceled` integer DEFAULT 0 NOT NULL,
	`lost` integer DEFAULT 0 NOT NULL,
	`incomplete` integer DEFAULT false NOT NULL,
	`jobs` integer DEFAULT 0 NOT NULL,
	`tokens` integer DEFAULT 0 NOT NULL,
	`unconfirmed_dispatches` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`active_at` integer NOT NULL,
	`closed_at` integer,
	`cancel_requested_at` integer,
	`completed_at` integer,
	`holder` text,
	CONSTRAINT "submissions_recorded" CHECK("submissions"."recorded" + "submissions"."lost" <= "submissions"."total"),
	CONSTRAINT "submissions_ended" CHECK("submissions"."succeeded" + "submissions"."failed" + "submissions"."canceled" <= "submissions"."recorded"),
	CONSTRAINT "submissions_completed" CHECK(("submissions"."completed_at" IS NOT NULL) = ("submissions"."closed_at" IS NOT NULL AND "submissions"."succeeded" + "submissions"."failed" + "submissions"."canceled" + "submissions"."lost" = "submissions"."total"))
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `submissions_label` ON `submissions` (`label`) WHERE label IS NOT NULL;--> statement-breakpoint
CREATE TABLE `sweeps` (
	`id` integer PRIMARY KEY NOT NULL,
	`swept_through` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `totals` (
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`collection` text NOT NULL,
	`total` integer DEFAULT 0 NOT NULL,
	`succeeded` integer DEFAULT 0 NOT NULL,
	`failed` integer DEFAULT 0 NOT NULL,
	`canceled` integer DEFAULT 0 NOT NULL,
	`tokens` integer DEFAULT 0 NOT NULL,
	`unconfirmed_dispatches` integer DEFAULT 0 NOT NULL,
	`repeated_dispatches` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`kind`, `name`, `collection`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `unfolded_submissions` (
	`submission_id` text PRIMARY KEY NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `watched_submissions` (
	`submission_id` text PRIMARY KEY NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE VIEW `best` AS SELECT o.collection, o.document_id,
    coalesce(o.scores ->> '$[0][2]', CAST(o.scores ->> '$[0][0]' AS TEXT)) AS context_id,
    o.scores ->> '$[0][0]' AS context_index, o.scores ->> '$[0][1]' AS score, 1 AS rank,
    o.model, o.submission_id, strftime('%Y-%m-%dT%H:%M:%fZ', o.finalized_at / 1000.0, 'unixepoch') AS finalized_at
  FROM outcomes o
  WHERE o.status = 'succeeded' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.document_id = o.document_id AND n.collection = o.collection
      AND n.submission_id > o.submission_id AND n.status = 'succeeded');--> statement-breakpoint
CREATE VIEW `failures` AS SELECT o.collection, o.document_id, o.code, o.message, o.attempts, o.submission_id, strftime('%Y-%m-%dT%H:%M:%fZ', o.finalized_at / 1000.0, 'unixepoch') AS finalized_at
  FROM outcomes o
  WHERE o.status = 'failed' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.document_id = o.document_id AND n.collection = o.collection
      AND n.submission_id > o.submission_id AND n.status <> 'canceled');--> statement-breakpoint
CREATE VIEW `scores` AS SELECT o.collection, o.document_id,
    coalesce(s.value ->> 2, CAST(s.value ->> 0 AS TEXT)) AS context_id,
    s.value ->> 0 AS context_index, s.value ->> 1 AS score, s.key + 1 AS rank,
    o.model, o.submission_id, strftime('%Y-%m-%dT%H:%M:%fZ', o.finalized_at / 1000.0, 'unixepoch') AS finalized_at
  FROM outcomes o CROSS JOIN json_each(o.scores) s
  WHERE o.status = 'succeeded' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.document_id = o.document_id AND n.collection = o.collection
      AND n.submission_id > o.submission_id AND n.status = 'succeeded');