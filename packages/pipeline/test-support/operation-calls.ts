import type { JobId, RequestId, SubmissionId } from "@sluice/core";
import { openDatabase, type Database } from "@sluice/db";
import { deleteDocument } from "../src/document/sql/delete-document.ts";
import { expireTexts, listTexts } from "../src/document/sql/expire-texts.ts";
import * as scores from "../src/document/sql/expire-scores.ts";
import * as versions from "../src/document/sql/forget-versions.ts";
import * as listing from "../src/document/sql/list-parts-of-texts.ts";
import { countDocuments, isKnownCollection } from "../src/document/sql/read-collection.ts";
import * as readDocument from "../src/document/sql/read-document.ts";
import * as readFeed from "../src/document/sql/read-feed.ts";
import * as chain from "../src/job/sql/poller-chain.ts";
import { claimAtStart, claimDueJobs } from "../src/job/sql/claim-due-jobs.ts";
import { claimReportedJobs } from "../src/job/sql/claim-reported-jobs.ts";
import { countOpenJobs } from "../src/job/sql/count-open-jobs.ts";
import { confirmDispatch } from "../src/job/sql/confirm-dispatch.ts";
import * as endedJobs from "../src/job/sql/delete-ended-jobs.ts";
import { isPieceOfInvalid } from "../src/job/sql/is-piece-of-invalid.ts";
import { mergeJobs, weighMergeableJobs } from "../src/job/sql/merge-jobs.ts";
import * as pauses from "../src/job/sql/pause-dispatching.ts";
import { postponeJob } from "../src/job/sql/postpone-job.ts";
import { readHoldingJobs } from "../src/job/sql/read-holding-jobs.ts";
import { readJobContent, readJobDocuments } from "../src/job/sql/read-job-documents.ts";
import { listJobs, readJob } from "../src/job/sql/read-jobs.ts";
import { readWaitingJobs } from "../src/job/sql/read-waiting-jobs.ts";
import { releaseJobs, releasePolls } from "../src/job/sql/release-jobs.ts";
import { separateSubmissions } from "../src/job/sql/separate-submissions.ts";
import { deferJob, startDispatch } from "../src/job/sql/start-dispatch.ts";
import { timesOutWhileOthersDoNot } from "../src/job/sql/times-out-while-others-do-not.ts";
import * as oldMessages from "../src/message/sql/delete-old-messages.ts";
import { lookUpParts } from "../src/message/sql/look-up-parts.ts";
import { quarantineMessage } from "../src/message/sql/quarantine-message.ts";
import * as malformed from "../src/message/sql/read-malformed-messages.ts";
import { recordParts } from "../src/message/sql/record-parts.ts";
import { dropMalformedMessage, restageMalformedMessage } from "../src/message/sql/release-malformed-message.ts";
import * as staging from "../src/message/sql/stage-parts.ts";
import { D1_TIME } from "../src/platform/clock.ts";
import { addRows } from "../src/platform/sql/add-rows.ts";
import { beginAlerts, endAlerts } from "../src/platform/sql/change-alerts.ts";
import { readAlertFacts } from "../src/platform/sql/read-alert-facts.ts";
import { hasRetentionPassed, readDatabaseSize, recordDatabaseSize } from "../src/platform/sql/database-size.ts";
import { readHeartbeat } from "../src/platform/sql/heartbeat.ts";
import { readUpkeep } from "../src/platform/sql/read-upkeep.ts";
import { finalizeJobs } from "../src/score/sql/finalize-jobs.ts";
import * as forgetting from "../src/submission/sql/forget-collection.ts";
import { cancelNext } from "../src/submission/sql/cancel-collection.ts";
import * as deletions from "../src/submission/sql/request-deletion.ts";
import { recordForgottenParts } from "../src/message/sql/record-forgotten-parts.ts";
import { cancelSubmission } from "../src/submission/sql/cancel-submission.ts";
import { closeSubmission, reopenSubmission } from "../src/submission/sql/close-submission.ts";
import { countStalled } from "../src/submission/sql/count-stalled.ts";
import { deleteExpiredKeys } from "../src/submission/sql/delete-expired-keys.ts";
import * as oldSubmissions from "../src/submission/sql/delete-submissions.ts";
import { endQueue } from "../src/submission/sql/end-queue.ts";
import { openKeyedSubmission, openSubmission, type NewSubmission } from "../src/submission/sql/open-submission.ts";
import { raiseTotal } from "../src/submission/sql/raise-total.ts";
import { keepAnswer, readIdempotencyKey } from "../src/submission/sql/read-idempotency-key.ts";
import * as submissions from "../src/submission/sql/read-submission.ts";
import * as totals from "../src/submission/sql/read-totals.ts";
import { readUnfinished } from "../src/submission/sql/read-unfinished.ts";
import {
  countExpiredFailures,
  listRetries,
  readRetryProgress,
  requestRetry,
} from "../src/submission/sql/request-retry.ts";
import * as retrying from "../src/submission/sql/retry-failed.ts";
import * as progress from "../src/submission/sql/retention-progress.ts";
import { rollUpTotals } from "../src/submission/sql/roll-up-totals.ts";
import { listStagedParts, sweepSubmissions } from "../src/submission/sql/sweep-submissions.ts";
import { releasePush, readCountedParts, takeOverPush } from "../src/submission/sql/take-over-push.ts";
import { claimLimits, MODEL, NOW, part, transactionOf } from "./fixtures.ts";
import { impatient, unreliableDatabase } from "./index.ts";

const SUBMISSION = "sub_01a228a4-d3cc-7c43-8d13-7ed8df7c05ea" as SubmissionId;
const JOB = "job_01a228a4-d3cc-7c43-8d13-7ed8df7c05ea" as JobId;
const REQUEST = "request-1" as RequestId;
const document = { collection: "default", id: "d1" };
const submission = { id: SUBMISSION, collection: "default" };
const position = { part: 0, index: 0 };
const pending = { id: JOB, dispatchNumber: 0, status: "pending" } as const;
const dispatched = { id: JOB, dispatchNumber: 1, status: "dispatched" } as const;
const key = { queue: "sluice-bulk", id: "message-1" };
const idempotencyKey = { apiKey: "key", key: "k1" };
const retry = { submission: SUBMISSION, code: "model_error", token: "t" } as const;
const retryPart = { root: JOB, part: 0, documentCount: 1 };
const deletion = {
  collection: "default",
  through: SUBMISSION,
  requestedAt: NOW,
  deletedDocuments: 0,
  completedAt: null,
  cursor: null,
};
const cursor = { canceledThrough: "", submission: "", part: -1, documents: null };
const version = { documentId: "d1", version: SUBMISSION };
const submissionToOpen: NewSubmission = {
  collection: "default",
  model: MODEL,
  lane: "bulk",
  label: "l",
  truncateInputs: true,
  total: 1,
  closed: true,
};
const move = { task: "texts", cursor: "1", isFirst: true, isLast: true } as const;
const measured = { bytes: 1, limit: 2 };
const dispatchError = { reason: "late", message: "m" };
const end = {
  outcomes: [
    { submission: SUBMISSION, document: "d1", scores: [[0, 0.5]] },
    { submission: SUBMISSION, document: "d2", code: "model_error", message: "m" },
  ],
  children: [{ id: JOB, round: 2, members: [[SUBMISSION, ["d3"]]], dueAt: NOW }],
  status: "succeeded",
  tokens: 1,
  error: null,
} as const;

/** Calls of every operation in the `sql` folders, by name: one per branch, so that every statement is sent. */
export const operationCalls: Readonly<Record<string, readonly ((db: Database) => Promise<unknown>)[]>> = {
  deleteDocument: [(db) => deleteDocument(db, document, NOW)],
  listTexts: [(db) => listTexts(db, 0, NOW, 10)],
  expireTexts: [
    (db) => expireTexts(db, { deleted: [1], rewritten: [2], before: NOW, failedToo: false }, move, NOW),
    (db) => expireTexts(db, { deleted: [1], rewritten: [], before: NOW, failedToo: true }, move, NOW),
  ],
  listOutcomes: [(db) => scores.listOutcomes(db, { ...document, submission: SUBMISSION }, NOW, 10)],
  expireScores: [(db) => scores.expireScores(db, [{ ...document, submission: SUBMISSION }], NOW, move, NOW)],
  listOldParts: [(db) => versions.listOldParts(db, { submission: SUBMISSION, part: 0 }, NOW, 10)],
  forgetOldVersions: [
    (db) =>
      versions.forgetOldVersions(
        db,
        [{ submission: SUBMISSION, part: 0 }],
        { versions: NOW, hidden: NOW, parts: NOW },
        move,
        NOW,
      ),
  ],
  listJobsAfter: [(db) => endedJobs.listJobsAfter(db, JOB, 10)],
  deleteEndedJobs: [(db) => endedJobs.deleteEndedJobs(db, [JOB], NOW, move, NOW)],
  listSubmissionsAfter: [(db) => oldSubmissions.listSubmissionsAfter(db, SUBMISSION, NOW, 10)],
  deleteSubmissions: [(db) => oldSubmissions.deleteSubmissions(db, [SUBMISSION], NOW, move, NOW)],
  listMalformedKeys: [(db) => oldMessages.listMalformedKeys(db, key, 10)],
  deleteOldMessages: [(db) => oldMessages.deleteOldMessages(db, [key], NOW, move, NOW)],
  deleteExpiredKeys: [(db) => deleteExpiredKeys(db, NOW, 10)],
  countExpiredFailures: [(db) => countExpiredFailures(db, retry)],
  lastUnlistedTexts: [(db) => listing.lastUnlistedTexts(db)],
  listPartKeys: [(db) => listing.listPartKeys(db, { submission: SUBMISSION, part: 0 }, 10)],
  addPartsToTexts: [(db) => listing.addPartsToTexts(db, [{ submission: SUBMISSION, part: 0 }], move, NOW)],
  endListing: [(db) => listing.endListing(db, 1, move, NOW)],
  readDocument: [true, false].map((texts) => (db) => readDocument.readDocument(db, document, texts)),
  readDocuments: [(db) => readDocument.readDocuments(db, "default", ["d1"], true)],
  readVersions: [(db) => readDocument.readVersions(db, [{ ...document, submission: SUBMISSION }], true)],
  weighDocuments: [(db) => readDocument.weighDocuments(db, "default", ["d1"])],
  readSubmissionDocuments: [(db) => readDocument.readSubmissionDocuments(db, submission, ["d1"], true)],
  findPosition: [(db) => readDocument.findPosition(db, submission, "d1")],
  listSubmissionDocuments: [(db) => readDocument.listSubmissionDocuments(db, submission, position, 10)],
  listEndedJobs: [(db) => readFeed.listEndedJobs(db, 1, 10)],
  readLastSequence: [(db) => readFeed.readLastSequence(db)],
  listFeedEntries: [(db) => readFeed.listFeedEntries(db, [JOB], null, "default", 10)],

  handOnChain: [(db) => chain.handOnChain(db, "a", "b", NOW)],
  takeChain: [(db) => chain.takeChain(db, "a", "b", NOW)],
  endChain: [(db) => chain.endChain(db, "a")],
  claimDueJobs: [(db) => claimDueJobs(db, claimLimits(NOW), NOW)],
  claimAtStart: [null, measured].map((size) => (db) => claimAtStart(db, claimLimits(NOW), D1_TIME, NOW, size)),
  recordDatabaseSize: [(db) => recordDatabaseSize(db, measured, D1_TIME)],
  hasRetentionPassed: [(db) => hasRetentionPassed(db, NOW)],
  readDatabaseSize: [(db) => readDatabaseSize(db, D1_TIME)],
  claimReportedJobs: [(db) => claimReportedJobs(db, [REQUEST], { waitMs: 1, eagerMs: 1 }, NOW)],
  countOpenJobs: [(db) => countOpenJobs(db, 10)],
  confirmDispatch: [(db) => confirmDispatch(db, dispatched, REQUEST, NOW)],
  isPieceOfInvalid: [(db) => isPieceOfInvalid(db, JOB)],
  weighMergeableJobs: [(db) => weighMergeableJobs(db, [JOB])],
  mergeJobs: [(db) => mergeJobs(db, JOB, [JOB], NOW)],
  pauseDispatching: [
    (db) =>
      pauses.pauseDispatching(db, { scope: "everything", reason: "requested", message: null, since: NOW, until: null }),
  ],
  resumeDispatching: [(db) => pauses.resumeDispatching(db, "everything", NOW)],
  readPauses: [(db) => pauses.readPauses(db, NOW)],
  dropEndedPauses: [(db) => pauses.dropEndedPauses(db, NOW)],
  holdPausedJobs: (
    [
      { kind: "everything" },
      { kind: "model", model: MODEL },
      { kind: "submissions", submissionIds: [SUBMISSION] },
    ] as const
  ).map((paused) => (db) => pauses.holdPausedJobs(db, paused, [JOB], NOW)),
  postponeJob: [null, "everything"].map(
    (scope) => (db) => postponeJob(db, dispatched, dispatchError, { dispatch: "none", refused: true }, NOW, NOW, scope),
  ),
  readHoldingJobs: [(db) => readHoldingJobs(db, [{ root: JOB, submission: SUBMISSION, id: "d1" }])],
  readJobDocuments: [(db) => readJobDocuments(db, [dispatched])],
  readJobContent: [(db) => readJobContent(db, dispatched)],
  readJob: [(db) => readJob(db, JOB)],
  listJobs: ([null, "pending", "succeeded"] as const).map(
    (status) => (db) => listJobs(db, { before: JOB, status }, 10),
  ),
  readWaitingJobs: [(db) => readWaitingJobs(db, [SUBMISSION])],
  releaseJobs: [(db) => releaseJobs(db, [pending], NOW)],
  releasePolls: [(db) => releasePolls(db, [dispatched], NOW)],
  separateSubmissions: [(db) => separateSubmissions(db, pending, [SUBMISSION], JOB, NOW)],
  startDispatch: [(db) => startDispatch(db, pending, { until: NOW, token: "t" }, NOW)],
  deferJob: ([null, "submit_rate", "first_submission", { scope: "everything" }] as const).map(
    (deferral) => (db) => deferJob(db, pending, deferral, NOW),
  ),
  timesOutWhileOthersDoNot: [(db) => timesOutWhileOthersDoNot(db, dispatched)],

  lookUpParts: [(db) => lookUpParts(db, [{ submission: SUBMISSION, part: 0 }])],
  quarantineMessage: [(db) => quarantineMessage(db, { ...key, reason: "r", body: "b" }, NOW)],
  listMalformedMessages: [null, key].map((after) => (db) => malformed.listMalformedMessages(db, after, 10)),
  readMalformedBody: [(db) => malformed.readMalformedBody(db, key)],
  countMalformedMessages: [(db) => malformed.countMalformedMessages(db, 10)],
  recordParts: [
    (db) =>
      recordParts(
        db,
        { id: JOB, model: MODEL, lane: "bulk", leaseUntil: NOW },
        transactionOf([[part(SUBMISSION, 0, [{ id: "d1" }])]]),
        NOW,
      ),
  ],
  recordForgottenParts: [(db) => recordForgottenParts(db, JOB, [part(SUBMISSION, 0, [{ id: "d1" }])], NOW)],
  dropMalformedMessage: [(db) => dropMalformedMessage(db, key)],
  restageMalformedMessage: [(db) => restageMalformedMessage(db, key, { submission: SUBMISSION, part: 0 }, NOW)],
  stagePart: [(db) => staging.stagePart(db, SUBMISSION, { part: 0, body: "{}", total: 1 }, NOW)],
  readStagedPart: [(db) => staging.readStagedPart(db, SUBMISSION, 0)],
  postponeStagedPart: [(db) => staging.postponeStagedPart(db, SUBMISSION, 0, NOW)],
  unstagePart: [(db) => staging.unstagePart(db, SUBMISSION, 0)],

  readHeartbeat: [(db) => readHeartbeat(db)],
  readAlertFacts: [(db) => readAlertFacts(db, NOW, 3_600_000)],
  beginAlerts: [(db) => beginAlerts(db, [{ name: "jobs_stuck", since: NOW }]), beginAfterFault],
  endAlerts: [(db) => endAlerts(db, [{ name: "jobs_stuck", since: NOW }])],
  addRows: [(db) => addRows(db, "poller", { read: 1, written: 1 })],
  readUpkeep: [(db) => readUpkeep(db)],

  finalizeJobs: [(db) => finalizeJobs(db, [{ job: dispatched, end }], NOW)],

  cancelNext: [(db) => cancelNext(db, deletion, cursor, NOW)],
  listNextParts: [(db) => forgetting.listNextParts(db, deletion, cursor)],
  forgetParts: [[], [{ submission: SUBMISSION, part: 0 }]].map(
    (parts) => (db) => forgetting.forgetParts(db, deletion, parts, cursor, NOW),
  ),
  listNextVersions: [null, version].map((after) => (db) => forgetting.listNextVersions(db, deletion, after)),
  forgetVersions: [(db) => forgetting.forgetVersions(db, deletion, null, version, cursor, NOW)],
  hasStagedParts: [(db) => forgetting.hasStagedParts(db, deletion)],
  completeDeletion: [(db) => forgetting.completeDeletion(db, deletion, NOW)],
  requestDeletion: [(db) => deletions.requestDeletion(db, "default", NOW)],
  readDeletion: [(db) => deletions.readDeletion(db, "default")],
  isSubmissionDeleted: [(db) => deletions.isSubmissionDeleted(db, SUBMISSION)],
  countDocuments: [(db) => countDocuments(db, "default", 10)],
  isKnownCollection: [(db) => isKnownCollection(db, "default")],
  listDeletions: [(db) => deletions.listDeletions(db, 10)],
  cancelSubmission: [(db) => cancelSubmission(db, SUBMISSION, NOW)],
  closeSubmission: [(db) => closeSubmission(db, SUBMISSION, NOW)],
  reopenSubmission: [(db) => reopenSubmission(db, SUBMISSION)],
  endQueue: [(db) => endQueue(db, NOW)],
  openSubmission: [(db) => openSubmission(db, submissionToOpen, "aaaa-aaaaaaaaaaaa", NOW), openAfterFault],
  openKeyedSubmission: [
    (db) =>
      openKeyedSubmission(db, submissionToOpen, { ...idempotencyKey, fingerprint: null }, "bbbb-bbbbbbbbbbbb", NOW),
  ],
  raiseTotal: [(db) => raiseTotal(db, SUBMISSION, 1, NOW, null, [{ part: 0, hash: "h" }])],
  readIdempotencyKey: [(db) => readIdempotencyKey(db, idempotencyKey, NOW)],
  keepAnswer: [
    (db) => keepAnswer(db, idempotencyKey, { submission: SUBMISSION, fingerprint: "f", status: 202, text: "{}" }),
  ],
  readSubmission: [(db) => submissions.readSubmission(db, SUBMISSION)],
  countFailures: [(db) => submissions.countFailures(db, [SUBMISSION])],
  listSubmissions: [(db) => submissions.listSubmissions(db, { before: SUBMISSION, since: NOW, label: "l" }, 10)],
  readLaneTotals: [(db) => totals.readLaneTotals(db)],
  readLabelTotals: [(db) => totals.readLabelTotals(db, "l")],
  readFailureTotals: [(db) => totals.readFailureTotals(db)],
  readJobTotals: [(db) => totals.readJobTotals(db)],
  readEndedJobs: [(db) => totals.readEndedJobs(db, 10)],
  countStalled: [(db) => countStalled(db, NOW, 10)],
  countEndedSince: [(db) => totals.countEndedSince(db, [NOW])],
  readUnfinished: [(db) => readUnfinished(db)],
  requestRetry: [(db) => requestRetry(db, retry, NOW)],
  listRetries: [(db) => listRetries(db, 10)],
  readRetryProgress: [(db) => readRetryProgress(db, [SUBMISSION])],
  readRetry: [(db) => retrying.readRetry(db, retry)],
  listRetryParts: [(db) => retrying.listRetryParts(db, retry, '["","",""]', 10)],
  readRetryParts: [(db) => retrying.readRetryParts(db, retry, 10)],
  listFailed: [(db) => retrying.listFailed(db, retry, "default", [retryPart])],
  retryFailed: [
    (db) => retrying.retryFailed(db, retry, "default", [retryPart], [{ id: JOB, root: JOB, documentIds: ["d1"] }], NOW),
  ],
  endRetry: [(db) => retrying.endRetry(db, retry)],
  rollUpTotals: [(db) => rollUpTotals(db, NOW)],
  sweepSubmissions: [(db) => sweepSubmissions(db, { now: NOW, settledBy: NOW, abandonedBefore: NOW, lostBefore: NOW })],
  listStagedParts: [(db) => listStagedParts(db, NOW, 10)],
  takeOverPush: [(db) => takeOverPush(db, SUBMISSION, "t", NOW)],
  releasePush: [(db) => releasePush(db, SUBMISSION, null)],
  readRetentionProgress: [(db) => progress.readRetentionProgress(db)],
  advanceRetention: [(db) => progress.advanceRetention(db, move, NOW)],
  readCountedParts: [(db) => readCountedParts(db, SUBMISSION)],
};

/** Opens a submission whose first try fails. The second try looks for the row further back. */
async function openAfterFault(db: Database): Promise<unknown> {
  const { d1 } = unreliableDatabase(db.$client, (call) => (call === 1 ? "before" : null));
  return openSubmission(openDatabase(d1, { ...impatient, tries: 2 }), submissionToOpen, "cccc-cccccccccccc", NOW);
}

/** Raises and ends an alert whose first tries fail. The second tries have statements of their own. */
async function beginAfterFault(db: Database): Promise<unknown> {
  const { d1 } = unreliableDatabase(db.$client, (call) => (call % 2 === 1 ? "before" : null));
  const unreliable = openDatabase(d1, { ...impatient, tries: 2 });
  await beginAlerts(unreliable, [{ name: "poller_silent", since: NOW }]);
  return endAlerts(unreliable, [{ name: "poller_silent", since: NOW }]);
}
