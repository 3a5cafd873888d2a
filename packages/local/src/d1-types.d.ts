import type {
  D1Database as Database,
  D1PreparedStatement as PreparedStatement,
  D1Result as Result,
} from "@cloudflare/workers-types";

// `@sluice/db` is written for Workers, whose types conflict with Node's.
declare global {
  type D1Database = Database;
  type D1PreparedStatement = PreparedStatement;
  type D1Result<T = unknown> = Result<T>;
}
