import { env } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mintJobId } from "@sluice/core";
import { NOW, pushJson, pushNdjson, testApi, type TestApi } from "./api.ts";
import { recordMessages } from "./record-messages.ts";

/*
 * Bodies by the thousand. Whatever is sent: never a 5xx, nothing stored of what is refused, and what is
 * accepted comes back to the letter.
 */

/** Text of every kind that JSON can carry, well-formed, from one plane of Unicode or all. */
const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 30 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 12 }).filter((value) => !value.includes("\0")),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "\u007f",
    "\u2028",
    "</script>",
    "'; DROP TABLE documents; --",
    "%00",
    "0",
    " ",
  ),
);
const id = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }).filter((value) => value !== "." && value !== ".."),
  fc.constantFrom("a/b", "a?b=c#d", "%2F", "ünï", "😀", "__proto__", "toString", "...", " a ", "q'\"`"),
);
const metadata = fc.dictionary(
  fc.string({ maxLength: 8 }).filter((key) => key !== "__proto__"),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>,
  { maxKeys: 4, noNullPrototype: true },
);
const context = fc.oneof(
  text,
  text.map((value) => ({ text: value })),
);
const document = fc.record(
  { id, query: text, contexts: fc.array(context, { minLength: 1, maxLength: 6 }), metadata },
  { requiredKeys: ["query", "contexts"] },
);

/** What may be put in the place of anything: wrong types, broken text, too much. */
const rubbish = fc.oneof(
  fc.jsonValue() as fc.Arbitrary<unknown>,
  fc.constantFrom<unknown>(
    "",
    "\ud800",
    "a\udc00b",
    "\0",
    "x\0y",
    null,
    -0,
    1e308,
    [],
    {},
    [[]],
    "x".repeat(300),
    ".",
    "..",
    "a\nb",
  ),
  fc.constant(1_001).map((count) => Array.from({ length: count }, () => "c")),
  fc.constant(40).map((depth) => JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`) as unknown),
);

/** A document, and one change that may or may not leave it valid. */
const damaged = fc
  .tuple(document, fc.constantFrom("query", "contexts", "id", "metadata", "documents", "top_n", "x"), rubbish)
  .map(([value, key, other]) => ({ ...value, [key]: other }));
const innerDamage = fc.tuple(document, fc.nat(5), rubbish).map(([value, place, other]) => ({
  ...value,
  contexts: value.contexts.map((one, n) => (n === place ? other : one)),
}));
const candidate = fc.oneof(
  { arbitrary: document, weight: 3 },
  { arbitrary: damaged, weight: 3 },
  { arbitrary: innerDamage, weight: 2 },
);

/** Raw text that is JSON, nearly JSON, or nothing of the kind. */
const rawBody = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.tuple(candidate, fc.nat(40)).map(([value, cut]) => JSON.stringify(value).slice(cut)),
  fc.tuple(candidate, fc.nat(40)).map(([value, cut]) => JSON.stringify(value).slice(0, -1 - cut)),
  candidate.map((value) => `{"query":"first",${JSON.stringify(value).slice(1)}`),
  candidate.map((value) => `\ufeff${JSON.stringify(value)}`),
);
const jsonBody = fc.oneof(
  { arbitrary: candidate.map((value) => JSON.stringify(value)), weight: 4 },
  {
    arbitrary: fc
      .record(
        { documents: fc.array(candidate, { maxLength: 3 }), label: fc.oneof(text, rubbish), lane: rubbish },
        { requiredKeys: ["documents"] },
      )
      .map((value) => JSON.stringify(value)),
    weight: 3,
  },
  { arbitrary: rawBody, weight: 2 },
);
const lines = fc
  .array(
    fc.oneof(
      { arbitrary: candidate.map((value) => JSON.stringify(value)), weight: 4 },
      { arbitrary: rawBody, weight: 1 },
      { arbitrary: fc.constant(""), weight: 1 },
    ),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .chain((list) => fc.constantFrom("\n", "\r\n").map((end) => list.join(end)));

interface Accepted {
  readonly submission: { readonly id: string };
  readonly accepted: number;
  readonly rejected_count: number;
}

const submissionsIn = async () =>
  (
    await env.DB.prepare("SELECT (SELECT count(*) FROM submissions) + (SELECT count(*) FROM staged_parts) AS n").first<{
      n: number;
    }>()
  )?.n;

/** The documents that a message carries, as the JSON that was sent said them: what D1 must give back. */
function sentDocuments(api: TestApi) {
  return api.messages().flatMap((message) => (message.kind === "part" ? message.documents : []));
}

async function expectKept(api: TestApi, answer: Accepted): Promise<void> {
  const sent = sentDocuments(api);
  expect(sent).toHaveLength(answer.accepted);
  const bodies = api.calls.flatMap((call) => call.bodies);
  await recordMessages(bodies, mintJobId(NOW, api.dependencies.random(10)));
  for (const one of sent) {
    const response = await api.fetch(
      `/v1/collections/default/documents/${encodeURIComponent(one.id)}?include=text,metadata`,
    );
    expect(response.status).toBe(200);
    const shown = await response.text();
    const kept = JSON.parse(shown) as { id: string; query: string; submission_id: string };
    const { results } = await env.DB.prepare(
      `SELECT t.texts -> d.contexts_at AS contexts
       FROM documents d JOIN contexts t ON t.id = d.contexts_id
       WHERE d.document_id = ? AND d.submission_id = ?`,
    )
      .bind(one.id, answer.submission.id)
      .all<{ contexts: string }>();
    expect(kept).toMatchObject({ id: one.id, query: one.query, submission_id: answer.submission.id });
    expect(shown.endsWith(`,"metadata":${one.metadata ?? "null"}}`)).toBe(true);
    expect(JSON.parse(results[0]?.contexts ?? "null")).toEqual(one.contexts);
  }
}

/** The documents of a body as JavaScript reads them, where it is one that is wholly accepted. */
function meant(body: string): { query: unknown; contexts: unknown; metadata: unknown }[] {
  const value = JSON.parse(body.replace(/^\ufeff/, "")) as Record<string, unknown>;
  const list = (Object.hasOwn(value, "documents") ? value["documents"] : [value]) as Record<string, unknown>[];
  return list.map((one) => ({
    query: one["query"],
    contexts: (one["contexts"] as (string | { text: string })[]).map((each) =>
      typeof each === "string" ? each : each.text,
    ),
    metadata: Object.hasOwn(one, "metadata") ? JSON.stringify(one["metadata"]) : undefined,
  }));
}

describe("generated bodies", () => {
  it("as JSON: 2,600 of them", { timeout: 300_000 }, async () => {
    const api = await testApi();
    let [taken, refused] = [0, 0];
    const property = fc.asyncProperty(jsonBody, async (body) => {
      api.calls.length = 0;
      const before = await submissionsIn();
      const response = await pushJson(api, body);
      const answer = await response.json<
        Accepted & { title?: string; detail?: string; errors?: { pointer?: string }[] }
      >();
      if (response.status === 202) {
        taken += 1;
        const kept = sentDocuments(api).map(({ query, contexts, metadata: given }) => ({
          query,
          contexts,
          metadata: given,
        }));
        expect(kept).toEqual(meant(body));
        return expectKept(api, answer);
      }
      refused += 1;
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(answer.title).toMatch(/\w/);
      if (response.status === 422) expect(answer.errors?.[0]?.pointer).toBeTypeOf("string");
      expect([await submissionsIn(), api.calls.length]).toEqual([before, 0]);
    });
    await fc.assert(property, { numRuns: 2_600, seed: 20_261_129 });
    // Both ways were met often, or the generator is no test.
    expect(Math.min(taken, refused)).toBeGreaterThan(500);
  });

  it("as NDJSON: 2,600 of them", { timeout: 300_000 }, async () => {
    const api = await testApi();
    let [mixed, none] = [0, 0];
    const property = fc.asyncProperty(lines, async (body) => {
      api.calls.length = 0;
      const before = await submissionsIn();
      const response = await pushNdjson(api, body);
      const answer = await response.json<Accepted>();
      if (response.status === 202) {
        if (answer.rejected_count > 0) mixed += 1;
        expect(answer.accepted).toBeGreaterThan(0);
        expect(answer.accepted + answer.rejected_count).toBe(
          body.split("\n").filter((line) => !/^[ \t\r]*$/.test(line)).length,
        );
        return expectKept(api, answer);
      }
      none += 1;
      expect([400, 422]).toContain(response.status);
      expect([await submissionsIn(), api.calls.length]).toEqual([before, 0]);
    });
    await fc.assert(property, { numRuns: 2_600, seed: 20_261_129 });
    expect(Math.min(mixed, none)).toBeGreaterThan(200);
  });
});
