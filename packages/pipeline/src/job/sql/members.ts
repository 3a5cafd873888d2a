import { sql } from "drizzle-orm";
import { isDocument } from "../../document/sql/is-document.ts";
import { columns } from "../../platform/sql/columns.ts";

/** An entry of `jobs.members` (`JobMembers` in TypeScript): a submission and the ids of its documents. */
export const MEMBER = columns("submission", "documents");

/** The submission of the entry `g`. Statements read a job's list as `json_each(j.members) g`. */
export const memberSubmission = MEMBER.row(sql`g.value`)("submission");

/** The documents of the entry `g`, as a table of ids. */
export const memberDocuments = sql`json_each(g.value, ${MEMBER.path("documents")})`;

/** Whether `d` is the document that the id `i` names in the submission `s`. */
export const isMemberDocument = isDocument(sql`d`, {
  id: sql`i.value`,
  collection: sql`s.collection`,
  submission: sql`s.id`,
});
