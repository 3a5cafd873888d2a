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

/** What may be told of an exception: a Drizzle error's message holds the values it bound, so no message is. */
export function describeError(error: unknown): { error: string; cause: string; at: string[] } {
  if (!(error instanceof Error)) return { error: typeof error, cause: "", at: [] };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return {
    error: error.name,
    cause: error.cause instanceof Error ? error.cause.name : "",
    at: frames.slice(0, 4).map((line) => line.trim()),
  };
}
