import { RunBudget } from "@sluice/pipeline/job/run-budget.ts";
import { contextOf, type ContextEnv } from "@sluice/pipeline/platform/context-of.ts";
import { runMaintenance } from "@sluice/pipeline/submission/maintenance.ts";
import { retain } from "@sluice/pipeline/submission/retention.ts";
import { retentionSettings } from "@sluice/pipeline/submission/retention-rules.ts";

const DAY_MS = 86_400_000;

/** What a sweep of the poller does, at a time some days from now. */
export interface Sweep {
  readonly days: number;
  readonly does: "maintenance" | "retention";
  /** `RETAIN_SCORES_DAYS`. */
  readonly scores: string;
}

export interface SweepEnd {
  readonly statements: number;
  readonly milliseconds: number;
}

/** Performs a sweep with the deployed settings for texts and history. */
export async function sweepLater(request: Request, env: ContextEnv): Promise<Response> {
  const { days, does, scores } = await request.json<Sweep>();
  const isolate = contextOf(env);
  const now = () => Date.now() + days * DAY_MS;
  const context = { ...isolate, now, databaseTime: now };
  const settings = retentionSettings({ RETAIN_TEXTS_DAYS: "7", RETAIN_HISTORY_DAYS: "30", RETAIN_SCORES_DAYS: scores });
  const startedAt = now();
  if (does === "maintenance") await runMaintenance(context, new RunBudget(context));
  else await retain(context, settings, "normal", new RunBudget(context));
  const end: SweepEnd = { statements: context.statements(), milliseconds: now() - startedAt };
  return Response.json(end);
}
