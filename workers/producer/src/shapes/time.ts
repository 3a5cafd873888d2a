/** A time of D1, in milliseconds since the epoch, as RFC 3339. */
export function time(milliseconds: number): string;
export function time(milliseconds: number | null): string | null;
export function time(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}

/** Why something waits, and until when. The list of reasons is closed. */
export interface Waiting {
  /** `retry`: Workers AI turned the job away for now, and it is tried again. */
  readonly reason: "retry";
  readonly until: string;
}
