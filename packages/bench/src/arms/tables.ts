const requests = [
  `CREATE TABLE requests (document_id TEXT PRIMARY KEY, query TEXT NOT NULL, contexts TEXT NOT NULL,
    status TEXT NOT NULL, request_id TEXT, polls INTEGER NOT NULL DEFAULT 0, scores TEXT,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  "CREATE INDEX requests_status ON requests (status)",
  "CREATE INDEX requests_request ON requests (request_id)",
];

const floor = [
  "CREATE TABLE documents (document_id TEXT PRIMARY KEY, query TEXT NOT NULL, contexts TEXT NOT NULL) WITHOUT ROWID",
  "CREATE TABLE outcomes (document_id TEXT PRIMARY KEY, scores TEXT NOT NULL) WITHOUT ROWID",
];

/** The tables of the other arms. */
export const tables = {
  floor,
  relay: [
    ...floor,
    "CREATE TABLE jobs (request_id TEXT PRIMARY KEY, members TEXT NOT NULL, ended INTEGER NOT NULL DEFAULT 0)",
  ],
  tutorial: ["CREATE TABLE results (document_id TEXT PRIMARY KEY, scores TEXT NOT NULL) WITHOUT ROWID"],
  "row-per-document": requests,
  "row-per-document-batched": requests,
} as const;

/** Inserts a JSON list of documents, and a list of `[id, scores]`: the same for the floor and the relay. */
export const INSERT_DOCUMENTS = `
  INSERT INTO documents SELECT d.value ->> 'id', d.value ->> 'query', d.value -> 'contexts' FROM json_each(?1) d
  WHERE true ON CONFLICT DO NOTHING`;
export const INSERT_OUTCOMES =
  "INSERT INTO outcomes SELECT o.value ->> 0, o.value -> 1 FROM json_each(?1) o WHERE true ON CONFLICT DO NOTHING";
