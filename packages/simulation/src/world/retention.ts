import type { RetentionSettings, RetentionVariables } from "@sluice/pipeline/submission/retention-rules.ts";
import { retentionSettings } from "@sluice/pipeline/submission/retention-rules.ts";
import type { RetentionRules } from "../checks/retention.ts";
import type { Random } from "../random.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** How long a seed keeps things: as deployed, or for minutes in a seed that forgets. */
export class SeedRetention implements RetentionRules {
  readonly variables: RetentionVariables;
  readonly settings: RetentionSettings;
  readonly mayBePressed: boolean;

  constructor(
    deployed: Readonly<Record<string, string>> | undefined,
    later: Random,
    { forgets, mayBePressed }: { readonly forgets: boolean; readonly mayBePressed: boolean },
  ) {
    const days = (least: number, most: number) => (later.spread(least * MINUTE, most * MINUTE) / DAY).toFixed(6);
    this.variables = forgets
      ? {
          RETAIN_TEXTS_DAYS: days(1, 60),
          RETAIN_HISTORY_DAYS: days(1, 120),
          RETAIN_SCORES_DAYS: later.chance(0.3) ? days(20, 240) : "",
        }
      : {
          RETAIN_TEXTS_DAYS: deployed?.["RETAIN_TEXTS_DAYS"] ?? "",
          RETAIN_HISTORY_DAYS: deployed?.["RETAIN_HISTORY_DAYS"] ?? "",
          RETAIN_SCORES_DAYS: deployed?.["RETAIN_SCORES_DAYS"] ?? "",
        };
    this.settings = retentionSettings(this.variables);
    this.mayBePressed = mayBePressed;
  }
}
