import { nameDocument, type Result, type SubmissionId } from "@sluice/core";
import type { Call, Dependencies } from "../dependencies.ts";
import { EMPTY_BODY, readBody, typeProblem, type BodyPiece } from "../http/body.ts";
import { allowsCollection } from "../http/keys.ts";
import { invalid, problemResponse, type LineProblem, type Problem } from "../http/problems.ts";
import { NDJSON_TYPES, jsonResponse, mediaType } from "../http/respond.ts";
import type { AcceptedDocument } from "../push/accepted.ts";
import { readJsonPush } from "../push/json-push.ts";
import { NdjsonPush } from "../push/ndjson-push.ts";
import { fillOptions, parsePushQuery, type GivenOptions, type PushOptions } from "../push/options.ts";
import { push, type PushEnd } from "../push/push.ts";
import { submissionShape } from "../shapes/submission.ts";
import { newSubmissionRow } from "../shapes/new-submission.ts";

/** Names of documents are given back for JSON up to this many. */
const MOST_NAMED = 100;
/** Seconds. */
const RETRY_AFTER = "10";

export async function postDocuments(dependencies: Dependencies, call: Call): Promise<Response> {
  const ndjson = (NDJSON_TYPES as readonly string[]).includes(
    mediaType(call.request.headers.get("content-type") ?? ""),
  );
  const problem = typeProblem(call.request, ["application/json", ...NDJSON_TYPES]);
  if (problem !== null) return problemResponse(problem);
  const query = parsePushQuery(call.url.searchParams);
  if (!query.ok) return problemResponse(invalid(query.error));
  const body: Result<AsyncIterable<BodyPiece>, Problem> = readBody(call.request);
  if (!body.ok) return problemResponse(body.error);
  return ndjson
    ? pushNdjson(dependencies, call, query.value, body.value)
    : pushJson(dependencies, call, query.value, body.value);
}

async function pushJson(
  dependencies: Dependencies,
  call: Call,
  query: GivenOptions,
  body: AsyncIterable<BodyPiece>,
): Promise<Response> {
  const read = await readJsonPush(body, query);
  if (!read.ok) return problemResponse(read.error);
  const { options, documents } = read.value;
  if (!allowsCollection(call.key, options.collection)) return notThisCollection(options.collection);
  const end = await push(dependencies, options, documents);
  if (end.kind !== "sent") return brokenOff(end);
  const names = documents.length <= MOST_NAMED ? documentNames(documents, end.submission) : null;
  return accepted(dependencies, options, end, { names, rejectedCount: 0, rejected: [] });
}

async function pushNdjson(
  dependencies: Dependencies,
  call: Call,
  query: GivenOptions,
  body: AsyncIterable<BodyPiece>,
): Promise<Response> {
  const options = fillOptions(query, null);
  if (!allowsCollection(call.key, options.collection)) return notThisCollection(options.collection);
  const lines = new NdjsonPush(options);
  const end = await push(dependencies, options, lines.read(body));
  const { rejectedCount, rejected } = lines;
  if (end.kind === "nothing")
    return problemResponse(lines.lines === 0 ? EMPTY_BODY : nothingAcceptable(rejectedCount, rejected));
  if (end.kind !== "sent") return brokenOff(end);
  return accepted(dependencies, options, end, { names: null, rejectedCount, rejected });
}

type SentPush = Extract<PushEnd, { kind: "sent" }>;

function accepted(
  { now }: Dependencies,
  options: PushOptions,
  end: SentPush,
  told: {
    readonly names: readonly { readonly id: string }[] | null;
    readonly rejectedCount: number;
    readonly rejected: readonly LineProblem[];
  },
): Response {
  const row = newSubmissionRow(options, { id: end.submission, createdAt: end.createdAt, total: end.accepted });
  return jsonResponse(
    {
      submission: submissionShape(row, [], now()),
      documents: told.names,
      accepted: end.accepted,
      rejected_count: told.rejectedCount,
      rejected: told.rejected,
    },
    202,
    { location: `/v1/submissions/${end.submission}` },
  );
}

function documentNames(documents: readonly AcceptedDocument[], submission: SubmissionId): { id: string }[] {
  return documents.map(({ document, place }) => ({ id: document.id ?? nameDocument(submission, place) }));
}

function brokenOff(end: Exclude<PushEnd, SentPush>): Response {
  switch (end.kind) {
    case "nothing":
      return problemResponse(EMPTY_BODY);
    case "broken_input":
      return problemResponse({ ...end.problem, members: { submission: end.submission } });
    case "unsent":
      return problemResponse({
        name: "unavailable",
        detail:
          end.submission === null
            ? "The push could not be taken in for now, and nothing of it was: push it again."
            : "The push broke off half way: part of it may be taken in under the submission named here. Push it again.",
        headers: { "retry-after": RETRY_AFTER },
        members: { submission: end.submission },
      });
  }
}

function nothingAcceptable(rejectedCount: number, rejected: readonly LineProblem[]): Problem {
  return {
    name: "nothing-acceptable",
    detail: `None of the ${rejectedCount} lines is acceptable; errors tells why, for the first ${rejected.length}.`,
    errors: rejected,
    members: { rejected_count: rejectedCount },
  };
}

function notThisCollection(collection: string): Response {
  return problemResponse({ name: "forbidden", detail: `The key does not allow the collection "${collection}".` });
}
