-- The keys of documents and outcomes begin with the collection, so that a question about a collection reads that
-- collection only. Rows move in the order of the new key, so that time and memory hardly depend on how many
-- collections there are.
--
-- Serves up to 200,000 documents of 1.5 KB within the 30 s that D1 gives a batch. Measured on two busy cores, as one
-- transaction:
--   200,000 documents in 1 or 1,000 collections: 5 to 15 s, 2.7 s of CPU time, 75 MB of memory
--   1,000,000 documents in 1 or 50 collections: 42 to 62 s, 14 s of CPU time, 75 MB of memory: too large
-- While it runs, the database grows by 300 bytes per document.
DROP VIEW `best`;--> statement-breakpoint
DROP VIEW `failures`;--> statement-breakpoint
DROP VIEW `scores`;--> statement-breakpoint
CREATE TABLE `__new_documents` (
	`collection` text NOT NULL,
	`document_id` text NOT NULL,
	`submission_id` text NOT NULL,
	`part` integer NOT NULL,
	`place` integer NOT NULL,
	`contexts_id` integer NOT NULL,
	`contexts_at` integer NOT NULL,
	`payload_bytes` integer NOT NULL,
	`context_count` integer NOT NULL,
	`context_ids` text,
	`metadata` text,
	`query` text NOT NULL,
	PRIMARY KEY(`collection`, `document_id`, `submission_id`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_documents` (`collection`, `document_id`, `submission_id`, `part`, `place`, `contexts_id`, `contexts_at`, `payload_bytes`, `context_count`, `context_ids`, `metadata`, `query`)
SELECT `collection`, `document_id`, `submission_id`, `part`, `place`, `contexts_id`, `contexts_at`, `payload_bytes`, `context_count`, `context_ids`, `metadata`, `query`
FROM `documents` ORDER BY `collection`, `document_id`, `submission_id`;
--> statement-breakpoint
DROP TABLE `documents`;--> statement-breakpoint
ALTER TABLE `__new_documents` RENAME TO `documents`;--> statement-breakpoint
CREATE TABLE `__new_outcomes` (
	`collection` text NOT NULL,
	`document_id` text NOT NULL,
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
	PRIMARY KEY(`collection`, `document_id`, `submission_id`),
	CONSTRAINT "outcomes_scores" CHECK((`status` = 'succeeded') = (`scores` IS NOT NULL)),
	CONSTRAINT "outcomes_code" CHECK((`status` = 'failed') = (`code` IS NOT NULL))
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_outcomes` (`collection`, `document_id`, `submission_id`, `status`, `model`, `attempts`, `job_id`, `code`, `message`, `dispatched_at`, `finalized_at`, `scores`)
SELECT `collection`, `document_id`, `submission_id`, `status`, `model`, `attempts`, `job_id`, `code`, `message`, `dispatched_at`, `finalized_at`, `scores`
FROM `outcomes` ORDER BY `collection`, `document_id`, `submission_id`;
--> statement-breakpoint
DROP TABLE `outcomes`;--> statement-breakpoint
ALTER TABLE `__new_outcomes` RENAME TO `outcomes`;--> statement-breakpoint
CREATE INDEX `outcomes_failed` ON `outcomes` (`submission_id`,`code`) WHERE status = 'failed';--> statement-breakpoint
CREATE VIEW `ranked` AS SELECT o.collection, o.document_id,
    CAST(coalesce(s.value ->> 2, s.value ->> 0) AS TEXT) AS context_id,
    CAST(s.value ->> 0 AS INTEGER) AS context_index, CAST(s.value ->> 1 AS REAL) AS score,
    CAST(s.key + 1 AS INTEGER) AS rank, o.model, o.submission_id, CAST(strftime('%Y-%m-%dT%H:%M:%fZ', o.finalized_at / 1000.0, 'unixepoch') AS TEXT) AS finalized_at, d.query,
    CAST(t.texts ->> ('$[' || d.contexts_at || '][' || (s.value ->> 0) || ']') AS TEXT) AS text, d.metadata
  FROM outcomes o
  LEFT JOIN documents d
    ON d.collection = o.collection AND d.document_id = o.document_id AND d.submission_id = o.submission_id
  LEFT JOIN contexts t ON t.id = d.contexts_id
  CROSS JOIN json_each(o.scores) s
  WHERE o.status = 'succeeded' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.collection = o.collection AND n.document_id = o.document_id
      AND n.submission_id > o.submission_id AND n.status = 'succeeded');
--> statement-breakpoint
CREATE VIEW `submissions_progress` AS SELECT id AS submission_id, collection, model, lane, label,
    CAST(CASE
      WHEN completed_at IS NOT NULL THEN iif(cancel_requested_at IS NULL, 'completed', 'canceled')
      WHEN cancel_requested_at IS NOT NULL THEN 'canceling'
      WHEN closed_at IS NULL THEN 'receiving'
      WHEN recorded + lost = 0 THEN 'queued'
      ELSE 'processing' END AS TEXT) AS status,
    total, CAST(total - recorded - lost AS INTEGER) AS queued,
    CAST(recorded - succeeded - failed - canceled AS INTEGER) AS processing,
    succeeded, CAST(failed + lost AS INTEGER) AS failed, canceled, incomplete, tokens, jobs, unconfirmed_dispatches,
    CAST(strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS TEXT) AS created_at, CAST(strftime('%Y-%m-%dT%H:%M:%fZ', completed_at / 1000.0, 'unixepoch') AS TEXT) AS completed_at
  FROM submissions;
--> statement-breakpoint
CREATE VIEW `best` AS SELECT o.collection, o.document_id,
    CAST(coalesce(o.scores ->> '$[0][2]', o.scores ->> '$[0][0]') AS TEXT) AS context_id,
    CAST(o.scores ->> '$[0][0]' AS INTEGER) AS context_index, CAST(o.scores ->> '$[0][1]' AS REAL) AS score,
    CAST(1 AS INTEGER) AS rank, o.model, o.submission_id, CAST(strftime('%Y-%m-%dT%H:%M:%fZ', o.finalized_at / 1000.0, 'unixepoch') AS TEXT) AS finalized_at
  FROM outcomes o
  WHERE o.status = 'succeeded' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.collection = o.collection AND n.document_id = o.document_id
      AND n.submission_id > o.submission_id AND n.status = 'succeeded');
--> statement-breakpoint
CREATE VIEW `failures` AS SELECT o.collection, o.document_id, o.code, o.message, o.attempts, o.submission_id, CAST(strftime('%Y-%m-%dT%H:%M:%fZ', o.finalized_at / 1000.0, 'unixepoch') AS TEXT) AS finalized_at
  FROM outcomes o
  WHERE o.status = 'failed' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.collection = o.collection AND n.document_id = o.document_id
      AND n.submission_id > o.submission_id AND n.status <> 'canceled');
--> statement-breakpoint
CREATE VIEW `scores` AS SELECT o.collection, o.document_id,
    CAST(coalesce(s.value ->> 2, s.value ->> 0) AS TEXT) AS context_id,
    CAST(s.value ->> 0 AS INTEGER) AS context_index, CAST(s.value ->> 1 AS REAL) AS score,
    CAST(s.key + 1 AS INTEGER) AS rank, o.model, o.submission_id, CAST(strftime('%Y-%m-%dT%H:%M:%fZ', o.finalized_at / 1000.0, 'unixepoch') AS TEXT) AS finalized_at
  FROM outcomes o CROSS JOIN json_each(o.scores) s
  WHERE o.status = 'succeeded' AND NOT EXISTS (
    SELECT 1 FROM outcomes n
    WHERE n.collection = o.collection AND n.document_id = o.document_id
      AND n.submission_id > o.submission_id AND n.status = 'succeeded');
