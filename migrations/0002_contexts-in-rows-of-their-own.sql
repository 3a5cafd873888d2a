CREATE TABLE `contexts` (
	`id` integer PRIMARY KEY NOT NULL,
	`texts` text NOT NULL
);
--> statement-breakpoint
INSERT INTO `contexts` (`texts`)
SELECT (
	SELECT json_group_array(json(p.`contexts` -> ('$."' || d.`place` || '"')) ORDER BY i.key)
	FROM json_each(p.`documents`) i
	CROSS JOIN `submissions` s ON s.`id` = p.`submission_id`
	LEFT JOIN `documents` d ON d.`document_id` = i.value AND d.`collection` = s.`collection` AND d.`submission_id` = s.`id` AND d.`part` = p.`part`
)
FROM `parts` p ORDER BY p.`submission_id`, p.`part`;
--> statement-breakpoint
CREATE TABLE `__new_documents` (
	`document_id` text NOT NULL,
	`collection` text NOT NULL,
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
	PRIMARY KEY(`document_id`, `collection`, `submission_id`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `__new_documents` (`document_id`, `collection`, `submission_id`, `part`, `place`, `contexts_id`, `contexts_at`, `payload_bytes`, `context_count`, `context_ids`, `metadata`, `query`)
SELECT d.`document_id`, d.`collection`, d.`submission_id`, d.`part`, d.`place`, p.`contexts_id`, i.key, d.`payload_bytes`, d.`context_count`, d.`context_ids`, d.`metadata`, d.`query`
FROM (
	SELECT `submission_id`, `part`, `documents`, row_number() OVER (ORDER BY `submission_id`, `part`) AS `contexts_id` FROM `parts`
) p
CROSS JOIN `submissions` s ON s.`id` = p.`submission_id`
CROSS JOIN json_each(p.`documents`) i
CROSS JOIN `documents` d ON d.`document_id` = i.value AND d.`collection` = s.`collection` AND d.`submission_id` = s.`id` AND d.`part` = p.`part`;
--> statement-breakpoint
DROP TABLE `documents`;--> statement-breakpoint
ALTER TABLE `__new_documents` RENAME TO `documents`;--> statement-breakpoint
ALTER TABLE `parts` DROP COLUMN `contexts`;--> statement-breakpoint
CREATE TABLE `__new_staged_parts` (
	`submission_id` text NOT NULL,
	`part` integer NOT NULL,
	`staged_at` integer NOT NULL,
	`body` text NOT NULL,
	PRIMARY KEY(`submission_id`, `part`)
);
--> statement-breakpoint
INSERT INTO `__new_staged_parts` (`submission_id`, `part`, `staged_at`, `body`)
SELECT `submission_id`, `part`, `staged_at`, `body` FROM `staged_parts`;--> statement-breakpoint
DROP TABLE `staged_parts`;--> statement-breakpoint
ALTER TABLE `__new_staged_parts` RENAME TO `staged_parts`;
