import { env } from "cloudflare:test";
import { describe, expect } from "vitest";
import type { SubmissionId } from "@sluice/core";
import { readDocument } from "../../src/document/sql/read-document.ts";
import { stagePart } from "../../src/message/sql/stage-parts.ts";
import { deliver } from "../../test-support/deliver.ts";
import { MODEL, NOW, open } from "../../test-support/fixtures.ts";
import { context, it } from "../../test-support/pipeline-test.ts";
import { rows } from "../../test-support/index.ts";

/*
 * Message bodies as releases have sent them, as text: a message can be eight days older than the consumer that reads it.
 * Add the bodies of a new format here; never change these.
 */

const header = (submission: SubmissionId, part: number) => `"submission":"${submission}","lane":"bulk","part":${part}`;

/** 0.1.0: a part with every field. */
const partOf = (submission: SubmissionId) =>
  `{"v":1,"kind":"part",${header(submission, 0)},"collection":"default","model":"${MODEL}","truncate_inputs":false,"hash":"h",` +
  `"documents":[{"place":0,"id":"plain","bytes":60,"query":"a query","contexts":["one","two"]},` +
  `{"place":1,"id":"full","bytes":80,"query":"a \\"query\\"","contexts":["three","four \u00e9"],` +
  `"context_ids":["c3","c4"],"metadata":"{\\"n\\":1.0}"}]}`;

/** 0.1.0: a reference to a staged part. */
const referenceTo = (submission: SubmissionId) => `{"v":1,"kind":"staged",${header(submission, 0)}}`;

const shown = async (id: string) => readDocument(context.db, { collection: "default", id }, true);

const expectDocuments = async () => {
  expect(await shown("plain")).toMatchObject({ query: "a query", contexts: '["one","two"]', metadata: null });
  expect(await shown("full")).toMatchObject({
    query: 'a "query"',
    contexts: JSON.stringify(["three", "four \u00e9"]),
    metadata: '{"n":1.0}',
  });
  expect(await rows(env.DB, "SELECT context_ids FROM documents WHERE document_id = 'full'")).toEqual([
    { context_ids: '["c3","c4"]' },
  ]);
};

describe("a message of an earlier release", () => {
  it("is recorded if it is a part", async () => {
    const submission = await open(context.db, { total: 2 });
    expect(await deliver(context, [{ id: "old", body: partOf(submission) }])).toEqual(["ack"]);
    await expectDocuments();
  });

  it("is recorded if it refers to a staged part", async () => {
    const submission = await open(context.db, { total: 2, closed: false });
    await stagePart(context.db, submission, { part: 0, body: partOf(submission), total: 2 }, NOW);
    expect(await deliver(context, [{ id: "old", body: referenceTo(submission) }])).toEqual(["ack"]);
    await expectDocuments();
  });
});
