import { exports } from "cloudflare:workers";
import { env } from "cloudflare:test";
import { mintJobId } from "@sluice/core";
import type { SluiceService } from "@sluice/client/types";
import { describe, expect, it } from "vitest";
import { dispatch, succeed } from "@sluice/pipeline/test-support/fixtures.ts";
import { NOW, pushJson, pushNdjson, testApi, type TestApi } from "./api.ts";
import { recordMessages } from "./record-messages.ts";
import { db } from "./stored.ts";

/** Metadata that JSON.parse, SQLite or both would change, without white space. */
const TEXTS = [
  '{"id":1546130668394913823}',
  '{"a":1e400,"b":-0,"c":1.0,"d":1,"e":0.10000000000000000555}',
  '{"10":1,"2":2,"a":1,"a":[3,{"b":4,"b":5}]}',
  String.raw`{"\u0061":"\u00e9\/\"\\ 2028: \u2028","b":"é/😀","__proto__":{"c":null}}`,
  `${'{"a":'.repeat(32)}1${"}".repeat(32)}`,
  `{"a":"${"x".repeat(4_088)}"}`,
] as const;

const bodyOf = (place: number, metadata: string) =>
  `{"metadata":{"overruled":1},"id":"m${place}","query":"q","contexts":["c","d"],"metadata":${metadata}}`;
/** The same JSON with white space between its tokens. */
const spaced = (metadata: string) => metadata.replace(/^\{(.*)\}$/s, " {\t$1 } ");
const documents = TEXTS.map((text, place) => bodyOf(place, spaced(text)));

type Answer = Readonly<Record<string, unknown>>;
const idOf = async (response: Response) => ((await response.json()) as { submission: { id: string } }).submission.id;

/** Records the pushed documents and gives them scores. */
async function score(api: TestApi): Promise<void> {
  const job = mintJobId(NOW, api.context.random(10));
  await recordMessages(
    api.calls.flatMap((call) => call.bodies),
    job,
  );
  await succeed(db(), job, await dispatch(db(), job));
}

/** The metadata of each document in the text of an answer. */
function metadataIn(text: string): string[] {
  return text
    .split(/(?<=\}),?\n?(?=\{"id":"m)/)
    .flatMap((document) => /"metadata":(.*\})\}(?:\],"(?:next_cursor|missing)":.*)?\n?$/s.exec(document)?.[1] ?? []);
}

async function expectEverywhere(api: TestApi, submission: string): Promise<void> {
  const ask = async (path: string, headers = {}) => (await api.fetch(path, { headers })).text();
  const ndjson = { accept: "application/x-ndjson" };
  const ids = TEXTS.map((_, place) => `id=m${place}`).join("&");
  const include = "include=metadata";
  expect(metadataIn(await ask(`/v1/submissions/${submission}/results?${include}`))).toEqual(TEXTS);
  expect(metadataIn(await ask(`/v1/submissions/${submission}/results?${include}`, ndjson))).toEqual(TEXTS);
  expect(metadataIn(await ask(`/v1/submissions/${submission}/results?${include}&limit=50`, ndjson))).toEqual(TEXTS);
  expect(metadataIn(await ask(`/v1/results?${include}`))).toEqual(TEXTS);
  expect(metadataIn(await ask(`/v1/results?${include}`, ndjson))).toEqual(TEXTS);
  expect(metadataIn(await ask(`/v1/collections/default/documents?${ids}&${include}`))).toEqual(TEXTS);
  for (const [place, text] of TEXTS.entries()) {
    const one = await ask(`/v1/collections/default/documents/m${place}?${include},text`);
    expect(metadataIn(one)).toEqual([text]);
    expect(JSON.parse(one)).toMatchObject({ id: `m${place}`, status: "succeeded" });
  }
  const { results } = await env.DB.prepare("SELECT metadata FROM documents ORDER BY place").all<Answer>();
  expect(results.map((row) => row["metadata"])).toEqual(TEXTS);
}

describe("metadata is returned exactly as it was pushed", () => {
  it("in a list of documents", async () => {
    const api = await testApi();
    const submission = await idOf(await pushJson(api, `{ "documents" : [ ${documents.join(" ,\n")} ] }`));
    await score(api);
    await expectEverywhere(api, submission);
  });

  it("as NDJSON", async () => {
    const api = await testApi();
    const submission = await idOf(await pushNdjson(api, documents.join("\r\n")));
    await score(api);
    await expectEverywhere(api, submission);
  });

  it("in a single document", async () => {
    for (const text of TEXTS) {
      const api = await testApi();
      await pushJson(api, bodyOf(0, spaced(text)));
      await score(api);
      const response = await api.fetch("/v1/collections/default/documents/m0?include=metadata");
      expect(metadataIn(await response.text())).toEqual([text]);
    }
  });
});

describe("over RPC", () => {
  // The entrypoint as another Worker's service binding has it.
  const sluice = (exports as unknown as { readonly Sluice: SluiceService }).Sluice;

  it("metadata that JavaScript cannot represent comes with its text", async () => {
    const api = await testApi();
    const held = '{"a":[0.1,-0,1.0,1E5,1e-7,123456789012345680000,"1546130668394913823"]}';
    const texts = [...TEXTS, held];
    const submission = await idOf(await pushNdjson(api, texts.map((text, place) => bodyOf(place, text)).join("\n")));
    await score(api);
    const lost = [TEXTS[0], TEXTS[1], TEXTS[2], undefined, undefined, undefined, undefined];
    const page = await sluice.results(submission, { include: ["metadata"] });
    expect(page?.data.map((one) => one.metadata_json)).toEqual(lost);
    expect(page?.data.map((one) => one.metadata)).toEqual(texts.map((text) => JSON.parse(text) as unknown));
    expect(await sluice.document("default", "m0", { include: ["metadata"] })).toMatchObject({
      metadata: { id: 1546130668394913800 },
      metadata_json: TEXTS[0],
    });
    expect(await sluice.document("default", "m0")).not.toHaveProperty("metadata_json");
  });
});
