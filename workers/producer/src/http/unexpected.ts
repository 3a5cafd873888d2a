import { isDatabaseFull, isTransient } from "@sluice/db";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import type { ApiContext } from "../context.ts";
import type { Problem } from "./problems.ts";

/** `Retry-After` when D1 is unavailable. */
const RETRY_AFTER_SECONDS = "10";

/** The problem of a request that ended with an exception, which is logged. */
export function unexpected(error: unknown, { log }: Pick<ApiContext, "log">, requestId: string): Problem {
  const isFull = isDatabaseFull(error);
  const unavailable = isFull || isTransient(error);
  const event = unavailable
    ? ({ event: "unavailable" } as const)
    : ({ event: "unexpected_error", level: "error" } as const);
  log({ ...event, request_id: requestId, ...describeError(error) });
  const members = { request_id: requestId };
  return unavailable
    ? {
        name: "unavailable",
        detail: isFull
          ? "D1 refuses writes because the database has reached its maximum size: try again once old data has been deleted."
          : "The database is temporarily unavailable: try again.",
        headers: { "retry-after": RETRY_AFTER_SECONDS },
        members,
      }
    : {
        name: "internal",
        detail: "The request failed because of an error in Sluice. The log has details under request_id.",
        members,
      };
}
