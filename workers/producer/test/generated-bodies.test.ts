import type { PartDocument } from "@sluice/pipeline/message/message.ts";
import { env } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mintJobId } from "@sluice/core";
import { NOW, pushJson, pushNdjson, testApi, type TestApi } from "./api.ts";
import { recordMessages } from "./record-messages.ts";

/*
 * Thousands of bodies. Whatever is sent, there is no 5xx, nothing of a refused document is stored, and accepted documents
 * come back exactly.
 */

/** Well-formed text of every kind that JSON can represent, from one plane of Unicode or from all. */
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

/** Replacements for any value: wrong types, broken text, too much. */
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

/** Raw text that is JSON, almost JSON, or something else. */
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

interface Problem {
  readonly title?: string;
  readonly errors?: readonly { readonly pointer?: string }[];
}

/** Bodies that are pushed between two reads of D1: a read costs as much as a push. */
const TOGETHER = 20;
const together = <T>(bodies: fc.Arbitrary<T>) => fc.array(bodies, { minLength: TOGETHER, maxLength: TOGETHER });
const settings = { numRuns: 2_600 / TOGETHER, seed: 20_261_129 };

/** The accepted documents of a body, in a collection that no other body of the round has. */
interface Taken {
  readonly collection: string;
  readonly submission: string;
  readonly messages: readonly string[];
  readonly documents: readonly PartDocument[];
}

const submissionsIn = async () =>
  (
    await env.DB.prepare("SELECT (SELECT count(*) FROM submissions) + (SELECT count(*) FROM staged_parts) AS n").first<{
      n: number;
    }>()
  )?.n ?? 0;

/** Pushes bodies one after another; `check` gets each answer. Refused bodies must leave no rows. */
async function pushAll(
  api: TestApi,
  bodies: readonly string[],
  push: (api: TestApi, body: string, query: string) => Promise<Response>,
  check: (body: string, response: Response, answer: Accepted & Problem, documents: readonly PartDocument[]) => void,
): Promise<Taken[]> {
  const before = await submissionsIn();
  const taken: Taken[] = [];
  for (const [n, body] of bodies.entries()) {
    api.calls.length = 0;
    const collection = `c${n}`;
    const response = await push(api, body, `?collection=${collection}`);
    const answer = await response.json<Accepted & Problem>();
    const messages = api.calls.flatMap((call) => call.bodies);
    // The documents of the JSON that was sent: D1 must return the same.
    const documents = api.messages().flatMap((message) => (message.kind === "part" ? message.documents : []));
    check(body, response, answer, documents);
    if (response.status === 202) {
      expect(documents).toHaveLength(answer.accepted);
      taken.push({ collection, submission: answer.submission.id, messages, documents });
    } else {
      expect(messages).toEqual([]);
    }
  }
  expect(await submissionsIn()).toBe(before + taken.length);
  return taken;
}

async function expectKept(api: TestApi, taken: readonly Taken[]): Promise<void> {
  await recordMessages(
    taken.flatMap(({ messages }) => messages),
    mintJobId(NOW, api.context.random(10)),
  );
  const { results } = await env.DB.prepare(
    `SELECT d.submission_id AS submission, d.document_id AS id, t.texts -> d.contexts_at AS contexts
     FROM documents d JOIN contexts t ON t.id = d.contexts_id WHERE d.submission_id IN (SELECT value FROM json_each(?))`,
  )
    .bind(JSON.stringify(taken.map(({ submission }) => submission)))
    .all<{ submission: string; id: string; contexts: string }>();
  const contextsOf = new Map(results.map(({ submission, id: of, contexts }) => [`${submission} ${of}`, contexts]));
  const all = taken.flatMap((one) => one.documents.map((sent) => ({ ...one, sent })));
  expect(results).toHaveLength(all.length);
  await Promise.all(
    all.map(async ({ collection, submission, sent }) => {
      const response = await api.fetch(
        `/v1/collections/${collection}/documents/${encodeURIComponent(sent.id)}?include=text,metadata`,
      );
      expect(response.status).toBe(200);
      const shown = await response.text();
      const kept = JSON.parse(shown) as { id: string; query: string; submission_id: string };
      expect(kept).toMatchObject({ id: sent.id, query: sent.query, submission_id: submission });
      expect(shown.endsWith(`,"metadata":${sent.metadata ?? "null"}}`)).toBe(true);
      expect(JSON.parse(contextsOf.get(`${submission} ${sent.id}`) ?? "null")).toEqual(sent.contexts);
    }),
  );
}

/** The documents of a body as JavaScript reads them, if all of it was accepted. */
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
    const property = fc.asyncProperty(together(jsonBody), async (bodies) => {
      const accepted = await pushAll(api, bodies, pushJson, (body, response, answer, documents) => {
        if (response.status === 202) {
          const kept = documents.map(({ query, contexts, metadata: given }) => ({ query, contexts, metadata: given }));
          expect(kept).toEqual(meant(body));
          return;
        }
        refused += 1;
        expect(response.status).toBeGreaterThanOrEqual(400);
        expect(response.status).toBeLessThan(500);
        expect(response.headers.get("content-type")).toBe("application/problem+json");
        expect(answer.title).toMatch(/\w/);
        if (response.status === 422) expect(answer.errors?.[0]?.pointer).toBeTypeOf("string");
      });
      taken += accepted.length;
      await expectKept(api, accepted);
    });
    await fc.assert(property, settings);
    expect(taken + refused).toBe(2_600);
    // The generator is a test only if both outcomes are frequent.
    expect(Math.min(taken, refused)).toBeGreaterThan(500);
  });

  it("as NDJSON: 2,600 of them", { timeout: 300_000 }, async () => {
    const api = await testApi();
    let [taken, mixed, none] = [0, 0, 0];
    const property = fc.asyncProperty(together(lines), async (bodies) => {
      const accepted = await pushAll(api, bodies, pushNdjson, (body, response, answer) => {
        if (response.status === 202) {
          if (answer.rejected_count > 0) mixed += 1;
          expect(answer.accepted).toBeGreaterThan(0);
          expect(answer.accepted + answer.rejected_count).toBe(
            body.split("\n").filter((line) => !/^[ \t\r]*$/.test(line)).length,
          );
          return;
        }
        none += 1;
        expect([400, 422]).toContain(response.status);
      });
      taken += accepted.length;
      await expectKept(api, accepted);
    });
    await fc.assert(property, settings);
    expect(taken + none).toBe(2_600);
    expect(Math.min(mixed, none)).toBeGreaterThan(200);
  });
});
