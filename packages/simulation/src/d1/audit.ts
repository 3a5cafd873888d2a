import type { DatabaseSync } from "node:sqlite";

/** The columns that a change of a row reports, by table, in this order. */
export const AUDITED = {
  submissions: [
    "id",
    "collection",
    "lane",
    "label",
    "created_at",
    "total",
    "recorded",
    "succeeded",
    "failed",
    "canceled",
    "lost",
    "forgotten",
    "closed_at",
    "active_at",
    "cancel_requested_at",
    "completed_at",
    "incomplete",
    "unconfirmed_dispatches",
    "tokens",
    "jobs",
    "holder",
  ],
  parts: ["submission_id", "part", "job_id", "document_count", "recorded_at", "documents"],
  contexts: ["id"],
  staged_parts: ["submission_id", "part", "staged_at"],
  documents: ["document_id", "collection", "submission_id", "payload_bytes", "part", "contexts_id"],
  outcomes: [
    "document_id",
    "collection",
    "submission_id",
    "status",
    "job_id",
    "code",
    "attempts",
    "scores",
    "finalized_at",
  ],
  jobs: [
    "id",
    "lane",
    "status",
    "parent_id",
    "merged_into",
    "batches",
    "halvings",
    "round",
    "dispatch_number",
    "refusals",
    "request_id",
    "due_at",
    "paused_by",
    "unconfirmed_dispatches",
    "repeated_dispatches",
    "dispatched_at",
    "document_count",
    "context_count",
    "payload_bytes",
    "tokens",
    "members",
    "finalized_sequence",
  ],
  pauses: ["scope", "reason", "until"],
  retries: ["submission_id", "code", "token", "documents", "queued"],
  collection_deletions: ["collection", "through", "completed_at"],
  heartbeats: ["name", "token", "at"],
  retention_progress: ["task"],
  alerts: ["name", "since"],
  malformed_messages: ["queue", "message_id", "body"],
} as const;

/** Returns triggers that report every inserted, updated or deleted row through the function `report`. */
export function auditSql(db: DatabaseSync): string {
  return Object.entries(AUDITED)
    .flatMap(([table, columns]) => {
      const known = new Set(
        db
          .prepare(`SELECT name FROM pragma_table_info('${table}')`)
          .all()
          .map((row) => row["name"]),
      );
      const unknown = columns.filter((column) => !known.has(column));
      if (unknown.length > 0)
        throw new Error(`the table ${table} no longer has the columns ${unknown.join(", ")}: update AUDITED`);
      return (["insert", "update", "delete"] as const).map((event) => {
        const row = event === "delete" ? "OLD" : "NEW";
        const values = columns.map((column) => `${row}.${column}`).join(", ");
        return `CREATE TEMP TRIGGER reported_${table}_${event} AFTER ${event.toUpperCase()} ON ${table}
          BEGIN SELECT report('${table}', '${event}', ${values}); END;`;
      });
    })
    .join("\n");
}
