import { err, lanes, MAX_PART_BYTES, ok, parseSubmissionId, utf8Length, type Lane, type Result } from "@sluice/core";
import { parseMessage, stagedBody } from "@sluice/pipeline/message/message.ts";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import {
  dropMalformedMessage,
  restageMalformedMessage,
} from "@sluice/pipeline/message/sql/release-malformed-message.ts";
import type { MalformedKey } from "@sluice/pipeline/message/sql/read-malformed-messages.ts";
import { STAGED_PARTS } from "@sluice/pipeline/message/sql/quarantine-message.ts";
import type { ApiContext } from "../context.ts";
import type { Problem } from "../http/problems.ts";
import { sendWithRetries } from "../push/pushback.ts";
import { findMalformed, type MalformedInput } from "./find-malformed.ts";

const RETRY_AFTER_SECONDS = "10";

/**
 * Sends a quarantined message to its queue again, and deletes it from the quarantine only then: after an interruption it
 * is still there, and a message that is sent twice is recorded once.
 */
export async function replayMalformed(
  context: ApiContext,
  input: MalformedInput,
): Promise<Result<{ readonly replayed: number }, Problem>> {
  const found = await findMalformed(context, input);
  if (!found.ok) return found;
  const { key, body } = found.value;
  const destination = destinationOf(key, body);
  switch (destination.kind) {
    case "none":
      return err(notReplayable(destination.reason));
    case "queue":
      if (!(await send(context, destination.lane, body))) return err(NOT_SENT);
      await dropMalformedMessage(context.db, key);
      break;
    case "staged":
      if (!(await restageMalformedMessage(context.db, key, destination, context.databaseTime())))
        return err(notReplayable("The submission of this part is not in D1."));
      // If the reference is not sent, the poller records the part within some minutes.
      await send(context, destination.lane, stagedBody(destination, destination.part));
      break;
  }
  context.log({ event: "message_replayed", queue: key.queue, message: key.id, to: destination.kind });
  return ok({ replayed: 1 });
}

type StagedPart = { readonly submission: NonNullable<ReturnType<typeof parseSubmissionId>>; readonly part: number };
type Destination =
  | { readonly kind: "queue"; readonly lane: Lane }
  | ({ readonly kind: "staged"; readonly lane: Lane } & StagedPart)
  | { readonly kind: "none"; readonly reason: string };

/** Where a body goes: to its lane's queue, or into D1 if no message can hold it. */
function destinationOf(key: MalformedKey, body: string): Destination {
  const read = parseMessage(body);
  const lane = read.ok ? read.value.lane : laneNamed(key.queue);
  const staged = read.ok && read.value.kind === "part" ? read.value : stagedPartNamed(key);
  if (utf8Length(body) > MAX_PART_BYTES) {
    if (staged === null) return { kind: "none", reason: "The message is too large for a queue and is not a part." };
    return { kind: "staged", lane: lane ?? "bulk", submission: staged.submission, part: staged.part };
  }
  if (lane === null) return { kind: "none", reason: `Neither the message nor its queue "${key.queue}" names a lane.` };
  return { kind: "queue", lane };
}

/** The lane of a queue, whatever its environment or its dead-letter suffix. */
function laneNamed(queue: string): Lane | null {
  return lanes.find((lane) => queue.includes(lane)) ?? null;
}

function stagedPartNamed({ queue, id }: MalformedKey): StagedPart | null {
  const [submission = "", part = ""] = queue === STAGED_PARTS ? id.split("/") : [];
  const parsed = parseSubmissionId(submission);
  return parsed === null || !/^\d{1,7}$/.test(part) ? null : { submission: parsed, part: Number(part) };
}

async function send(context: ApiContext, lane: Lane, body: string): Promise<boolean> {
  try {
    await sendWithRetries(context, () => context.queues[lane].sendBatch([{ body, contentType: "text" }]));
    return true;
  } catch (error) {
    context.log({ event: "replay_not_sent", lane, ...describeError(error) });
    return false;
  }
}

const NOT_SENT: Problem = {
  name: "unavailable",
  detail: "The queue did not accept the message. It stays quarantined: replay it again.",
  headers: { "retry-after": RETRY_AFTER_SECONDS },
};

function notReplayable(reason: string): Problem {
  const detail =
    `${reason} It cannot be sent again. If its documents are missing, push them again; then discard it: ` +
    "DELETE /v1/malformed/{id}, or sluice malformed --discard ID.";
  return { name: "conflict", detail };
}
