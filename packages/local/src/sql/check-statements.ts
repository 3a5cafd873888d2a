import { constants, DatabaseSync } from "node:sqlite";

/** The effect of running SQL. `unknown`: it does not compile, with the reason. */
export type Checked =
  | { readonly kind: "reads" }
  | { readonly kind: "writes"; readonly statement: string }
  | { readonly kind: "unknown"; readonly reason: string };

/** A request of a statement to SQLite's authorizer during compilation: an action with up to two names. */
interface Action {
  readonly code: number;
  readonly first: string | null;
  readonly second: string | null;
}

/**
 * Decides whether SQL only reads. SQLite itself splits the text into statements and compiles each, without running it,
 * on an empty in-memory database with the given schema. Its authorizer reports the effects of each statement, through
 * every view and common table expression.
 */
export function checkStatements(sql: string, schema: readonly string[]): Checked {
  // D1 reads "text" as a string if no column has that name.
  const database = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: true });
  try {
    for (const statement of schema) database.exec(statement);
    const actions: Action[] = [];
    database.setAuthorizer((code, first, second) => {
      actions.push({ code, first, second });
      return constants.SQLITE_OK;
    });
    for (let rest = sql; !isBlank(rest);) {
      actions.length = 0;
      const { sourceSQL } = database.prepare(rest);
      if (sourceSQL === "" || !rest.startsWith(sourceSQL)) return { kind: "unknown", reason: "it cannot be split" };
      if (!isExplain(sourceSQL) && !onlyReads(actions)) return { kind: "writes", statement: sourceSQL.trim() };
      rest = rest.slice(sourceSQL.length);
    }
    return { kind: "reads" };
  } catch (error) {
    return { kind: "unknown", reason: error instanceof Error ? error.message : String(error) };
  } finally {
    database.close();
  }
}

/** What SQLite skips before a statement: white space, semicolons, comments. A comment ends at its first terminator. */
const SKIPPED = String.raw`(?:[\s;]|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*(?:\*/|$))*`;
const BLANK = new RegExp(`^${SKIPPED}$`);
const EXPLAIN = new RegExp(`^${SKIPPED}explain\\b`, "i");

function isBlank(sql: string): boolean {
  return BLANK.test(sql);
}

/** For EXPLAIN, the authorizer receives the actions of the explained statement, which does not run. */
function isExplain(statement: string): boolean {
  return EXPLAIN.test(statement);
}

/** VACUUM and some forms of REINDEX request nothing; a statement that reads always requests something. */
function onlyReads(actions: readonly Action[]): boolean {
  return actions.length > 0 && actions.every(isRead);
}

function isRead({ code, first, second }: Action): boolean {
  switch (code) {
    case constants.SQLITE_SELECT:
    case constants.SQLITE_READ:
    case constants.SQLITE_FUNCTION:
    case constants.SQLITE_RECURSIVE:
      return true;
    case constants.SQLITE_PRAGMA:
      return isReadingPragma((first ?? "").toLowerCase(), second !== null);
    default:
      return false;
  }
}

/** PRAGMAs whose argument only selects what to report. https://www.sqlite.org/pragma.html */
const REPORTS = [
  "foreign_key_check",
  "foreign_key_list",
  "index_info",
  "index_list",
  "index_xinfo",
  "integrity_check",
  "quick_check",
  "table_info",
  "table_list",
  "table_xinfo",
];

/** PRAGMAs that report without an argument and write with one. */
const VALUES = [
  "application_id",
  "auto_vacuum",
  "cache_size",
  "collation_list",
  "compile_options",
  "data_version",
  "database_list",
  "defer_foreign_keys",
  "encoding",
  "foreign_keys",
  "freelist_count",
  "function_list",
  "journal_mode",
  "max_page_count",
  "module_list",
  "page_count",
  "page_size",
  "pragma_list",
  "recursive_triggers",
  "schema_version",
  "synchronous",
  "user_version",
];

function isReadingPragma(name: string, hasArgument: boolean): boolean {
  return REPORTS.includes(name) || (!hasArgument && VALUES.includes(name));
}
