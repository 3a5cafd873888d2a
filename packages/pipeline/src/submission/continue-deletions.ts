import type { RunBudget } from "../job/run-budget.ts";
import type { Context } from "../platform/context.ts";
import { continueDeletion, STEP_STATEMENTS } from "./continue-deletion.ts";
import { listDeletions } from "./sql/request-deletion.ts";

/** Maximum deletions that one run continues. */
const MAX_DELETIONS = 20;
/** Maximum steps of all of them together, of up to 3,000 documents each. */
const MAX_DELETION_STEPS = 15;
/** Steps that a run takes even under load, and the statements to reserve for them. */
const RESERVED_STEPS = 2;
export const DELETIONS_STATEMENTS = RESERVED_STEPS * STEP_STATEMENTS + 1;

/**
 * Continues the deletions of collections in progress, the oldest first: with the reserved steps, and more if the run has
 * statements left beside those that `others` need.
 */
export async function continueDeletions(context: Context, budget: RunBudget, others: number): Promise<void> {
  let left = Math.min(
    MAX_DELETION_STEPS,
    RESERVED_STEPS + Math.max(0, Math.floor((budget.statementsLeft - others) / STEP_STATEMENTS)),
  );
  for (const open of await listDeletions(context.db, MAX_DELETIONS)) {
    if (left === 0) return;
    const { deletion, steps } = await continueDeletion(context, open, left);
    left -= steps;
    context.log({
      event: "deletion_continued",
      collection: deletion.collection,
      through: deletion.through,
      documents: deletion.deletedDocuments,
      complete: deletion.completedAt !== null,
    });
  }
}
