import { sql, type SQL } from "drizzle-orm";

/** The path of a document's contexts in its part's. `document` is a row of `documents`. */
export function contextsPath(document: SQL): SQL {
  return sql`'$."' || ${document}.place || '"'`;
}

/** The contexts of a document as JSON. `document` is a row of `documents`, `part` that of its part. */
export function contextsOf(document: SQL, part: SQL): SQL {
  return sql`${part}.contexts -> (${contextsPath(document)})`;
}
