import type { Dispatch } from "../checks/state.ts";
import type { BatchEntry } from "./batch-answer.ts";
import { codedError, unclearError } from "./service-errors.ts";
import type { PoisonMode } from "./poison.ts";
import type { Surroundings } from "./surroundings.ts";

/** Draws the error with which the service refuses a call; `null` if it accepts. */
export function refusalOf(
  { faults, random, poisonMode }: Surroundings & { readonly poisonMode: PoisonMode },
  dispatch: Dispatch,
  entries: readonly BatchEntry[],
): (() => unknown) | null {
  const poison = entries.filter((entry) => entry.isPoison);
  if (poison.length > 0 && poisonMode === "submit") {
    faults.count("batch_invalid_at_submit");
    dispatch.reported.add("invalid");
    for (const { version } of poison) version.mayFailWith.add("invalid_input");
    return codedError(random, random.pick([5004, 5006, 3003, 5021]), "Invalid input");
  }
  if (faults.strikes("submit_out_of_capacity"))
    return codedError(random, 3040, "Capacity temporarily exceeded, please try again.");
  if (faults.strikes("submit_unclear")) {
    const error = unclearError(random);
    return () => {
      throw error;
    };
  }
  if (faults.strikes("submit_too_large")) {
    dispatch.reported.add("shrink");
    for (const { version } of entries.length === 1 ? entries : []) version.mayFailWith.add("too_large");
    return codedError(random, 3006, "Request too large");
  }
  if (faults.strikes("submit_daily_limit"))
    return codedError(
      random,
      random.pick([3036, 4006]),
      "you have used up your daily free allocation of 10,000 neurons",
    );
  if (faults.strikes("submit_configuration"))
    return codedError(random, random.pick([10_000, 5007, 5035, 5018]), "Authentication error");
  if (faults.strikes("submit_permanent")) {
    dispatch.reported.add("permanent");
    for (const { version } of entries) version.mayFailWith.add("refused");
    return codedError(random, 5005, "not supported");
  }
  return null;
}
