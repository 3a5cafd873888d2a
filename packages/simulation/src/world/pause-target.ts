/** What a request pauses or resumes; neither: everything. */
export interface PauseTarget {
  readonly model?: string;
  readonly submission?: string;
}

/** Its scope in D1. */
export function scopeOf({ model, submission }: PauseTarget): string {
  if (submission !== undefined) return `submission:${submission}`;
  return model === undefined ? "all" : `model:${model}`;
}

/** A pause's scope as a request names it. */
export function targetOf(scope: string): PauseTarget {
  const [kind = "", name] = scope.split(/:(.*)/s);
  return kind === "all" ? {} : { [kind]: name };
}
