/** The target of a pause or resume; everything if both are absent. */
export interface PauseTarget {
  readonly model?: string;
  readonly submission?: string;
}

/** Returns its scope in D1. */
export function scopeOf({ model, submission }: PauseTarget): string {
  if (submission !== undefined) return `submission:${submission}`;
  return model === undefined ? "all" : `model:${model}`;
}

/** Converts a pause's scope to a request's target. */
export function targetOf(scope: string): PauseTarget {
  const [kind = "", name] = scope.split(/:(.*)/s);
  return kind === "all" ? {} : { [kind]: name };
}
