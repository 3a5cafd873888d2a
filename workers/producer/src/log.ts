/** Ids, counts and codes: never text of a document, a key, or a bound parameter. */
export interface LogEntry {
  readonly event: string;
  readonly [field: string]: string | number | boolean | null | readonly string[];
}

export type Log = (entry: LogEntry) => void;

/** One JSON line an event, where Workers Logs reads it. */
export const logLine: Log = (entry) => {
  console.error(JSON.stringify(entry));
};
