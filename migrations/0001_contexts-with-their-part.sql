ALTER TABLE `parts` ADD `contexts` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
UPDATE `parts` SET `contexts` = (
	SELECT json_group_object(d.`place`, json(d.`contexts`))
	FROM json_each(`parts`.`documents`) i
	CROSS JOIN `submissions` s ON s.`id` = `parts`.`submission_id`
	CROSS JOIN `documents` d ON d.`document_id` = i.value AND d.`collection` = s.`collection` AND d.`submission_id` = s.`id`
);--> statement-breakpoint
ALTER TABLE `documents` DROP COLUMN `contexts`;
