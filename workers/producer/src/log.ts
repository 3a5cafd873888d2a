/** Ids, counts and codes; never document text, a key or a bound parameter. */
export interface LogEntry {
  readonly event: string;
  /** `error` asks a person to look at it. */
  readonly level?: "error";
  readonly [field: string]: string | number | boolean | null | readonly string[];
}

export type Log = (entry: LogEntry) => void;

/** One JSON line per event, for Workers Logs. */
export const logLine: Log = (entry) => {
  if (entry.level === "error") console.error(JSON.stringify(entry));
  else console.log(JSON.stringify(entry));
};
