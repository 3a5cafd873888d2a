import { lanes, MAX_PART_BYTES, parseSubmissionId, utf8Length, type Lane } from "@sluice/core";
import { parseMessage, stagedBody } from "@sluice/pipeline/message/message.ts";
import { describeError } from "@sluice/pipeline/platform/describe-error.ts";
import {
  dropMalformedMessage,
  restageMalformedMessage,
} from "@sluice/pipeline/message/sql/release-malformed-message.ts";
import {
  listMalformedMessages,
  readMalformedBody,
  type MalformedKey,
} from "@sluice/pipeline/message/sql/read-malformed-messages.ts";
import { STAGED_PARTS } from "@sluice/pipeline/message/sql/quarantine-message.ts";
import * as z from "zod";
import type { Call, ApiContext } from "../context.ts";
import { readCursor, writeCursor } from "../http/cursor.ts";
import { invalid, problemResponse } from "../http/problems.ts";
import { cursorParameter, DEFAULT_LIMIT, limitParameter, parseQuery } from "../http/query.ts";
import { jsonResponse } from "../http/respond.ts";
import { sendWithRetries } from "../push/pushback.ts";
import { malformedShape, parseMalformedId } from "../shapes/malformed.ts";
import { noQuery } from "./get-submission.ts";

export const malformedQuery = z.strictObject({ limit: limitParameter.optional(), cursor: cursorParameter });

const cursorSchema = z.strictObject({ queue: z.string(), id: z.string() });
const RETRY_AFTER_SECONDS = "10";

/** Quarantined messages by queue, without their text. */
export async function listMalformed({ db }: ApiContext, call: Call): Promise<Response> {
  const query = parseQuery(malformedQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const cursor = readCursor(query.value.cursor, cursorSchema);
  if (!cursor.ok) return problemResponse(invalid(cursor.error));
  if (call.key.collections !== null) return notThisKey();
  const { limit = DEFAULT_LIMIT } = query.value;
  const rows = await listMalformedMessages(db, cursor.value, limit);
  const last = rows.at(-1);
  const next = rows.length < limit || last === undefined ? null : writeCursor({ queue: last.queue, id: last.id });
  return jsonResponse({ data: rows.map(malformedShape), next_cursor: next });
}

/** Forgets a quarantined message. */
export async function discardMalformed(io: ApiContext, call: Call): Promise<Response> {
  const asked = await findMessage(io, call);
  if (asked instanceof Response) return asked;
  const { queue, id } = asked.key;
  await dropMalformedMessage(io.db, asked.key);
  io.log({ event: "message_discarded", queue, message: id });
  return new Response(null, { status: 204 });
}

/**
 * Sends a quarantined message to its queue again, and forgets it after that: what breaks off in between
 * leaves it where it is, and a message that is sent twice is recorded once.
 */
export async function replayMalformed(io: ApiContext, call: Call): Promise<Response> {
  const asked = await findMessage(io, call);
  if (asked instanceof Response) return asked;
  const { key, body } = asked;
  const destination = destinationOf(key, body);
  switch (destination.kind) {
    case "none":
      return notReplayable(destination.reason);
    case "queue":
      if (!(await send(io, destination.lane, body))) return notSent();
      await dropMalformedMessage(io.db, key);
      break;
    case "staged":
      if (!(await restageMalformedMessage(io.db, key, destination, io.databaseTime())))
        return notReplayable("The submission of this part is not in D1.");
      // Without the reference the poller records it within some minutes.
      await send(io, destination.lane, stagedBody(destination, destination.part));
      break;
  }
  io.log({ event: "message_replayed", queue: key.queue, message: key.id, to: destination.kind });
  return jsonResponse({ replayed: 1 });
}

/** The message that a request names, or why it is not done. */
async function findMessage(
  io: ApiContext,
  call: Call,
): Promise<{ readonly key: MalformedKey; readonly body: string } | Response> {
  const query = parseQuery(noQuery, call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  if (call.key.collections !== null) return notThisKey();
  const key = parseMalformedId(call.parameters["id"] ?? "");
  const body = key === null ? null : await readMalformedBody(io.db, key);
  if (key === null || body === null)
    return problemResponse({ name: "not-found", detail: "No message with this id is quarantined." });
  return { key, body };
}

type StagedPart = { readonly submission: NonNullable<ReturnType<typeof parseSubmissionId>>; readonly part: number };
type Destination =
  | { readonly kind: "queue"; readonly lane: Lane }
  | ({ readonly kind: "staged"; readonly lane: Lane } & StagedPart)
  | { readonly kind: "none"; readonly reason: string };

/** Where a body goes: to its lane's queue, or into D1 where no message can hold it. */
function destinationOf(key: MalformedKey, body: string): Destination {
  const read = parseMessage(body);
  const lane = read.ok ? read.value.lane : laneNamed(key.queue);
  const staged = read.ok && read.value.kind === "part" ? read.value : stagedPartNamed(key);
  if (utf8Length(body) > MAX_PART_BYTES) {
    if (staged === null)
      return { kind: "none", reason: "The message is larger than a queue takes, and is not a part." };
    return { kind: "staged", lane: lane ?? "bulk", submission: staged.submission, part: staged.part };
  }
  if (lane === null)
    return { kind: "none", reason: `The message names no lane, and its queue "${key.queue}" does not either.` };
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

async function send(io: ApiContext, lane: Lane, body: string): Promise<boolean> {
  try {
    await sendWithRetries(io, () => io.queues[lane].sendBatch([{ body, contentType: "text" }]));
    return true;
  } catch (error) {
    io.log({ event: "replay_not_sent", lane, ...describeError(error) });
    return false;
  }
}

function notSent(): Response {
  const detail = "The queue did not take the message. It stays quarantined: replay it again.";
  return problemResponse({ name: "unavailable", detail, headers: { "retry-after": RETRY_AFTER_SECONDS } });
}

function notReplayable(reason: string): Response {
  const detail =
    `${reason} It cannot be sent again. If its documents are missing, push them again; then discard it: ` +
    "DELETE /v1/malformed/{id}, or sluice malformed --discard ID.";
  return problemResponse({ name: "conflict", detail });
}

function notThisKey(): Response {
  const detail = "The key is limited to some collections, and quarantined messages may be of any.";
  return problemResponse({ name: "forbidden", detail });
}
