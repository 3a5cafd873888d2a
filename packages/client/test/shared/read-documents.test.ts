import { expect, test } from "vitest";
import { readDocuments } from "../../src/index.ts";
import { FakeApi } from "../fake-api.ts";
import { clientOf, collect, slowly, streamOf } from "./client.ts";

const encoder = new TextEncoder();
const bytesOf = (text: string) => new Uint8Array(encoder.encode(text));

/** Some readers end lines at these too. */
const SEPARATORS = "\u2028\u2029\u0085";
const LINE = JSON.stringify({ id: "a", query: `one${SEPARATORS}query`, contexts: [`one${SEPARATORS}text`] });

function pieces(bytes: Uint8Array<ArrayBuffer>, size: number): Uint8Array<ArrayBuffer>[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, index) => bytes.slice(index * size, (index + 1) * size));
}

const file = bytesOf(`\u{feff}${LINE}\r\n\n \t\r\n${LINE}\n${LINE}`);

test.each([
  ["bytes", () => file],
  ["a buffer", () => file.buffer],
  ["a blob", () => new Blob([file])],
  ["a stream", () => streamOf(pieces(file, 7))],
  ["an async iterable", () => slowly(pieces(file, 1))],
  ["a list of chunks", () => pieces(file, 50)],
])("splits %s at line feeds only", async (_, input) => {
  expect(await collect(readDocuments(input()))).toEqual([LINE, LINE, LINE]);
});

test("pushes a document with U+2028 and U+2029 in one piece", async () => {
  const api = new FakeApi();
  const pushed = await clientOf(api).client.push(readDocuments(bytesOf(`${LINE}\n`)));
  expect(pushed).toMatchObject({ accepted: 1, rejectedCount: 0 });
  expect(api.received[0]?.text).toBe(`${LINE}\n`);
});

test("refuses a line that is not UTF-8, and accepts the others", async () => {
  const api = new FakeApi();
  const bad = [...bytesOf('{"query":"caf'), 0xe9, ...bytesOf('","contexts":["a"]}\n')];
  const bytes = new Uint8Array([...bytesOf(`${LINE}\n`), ...bad, ...bytesOf(`${LINE}\n`)]);
  const pushed = await clientOf(api).client.push(readDocuments(bytes));
  expect(pushed).toMatchObject({ accepted: 2, rejectedCount: 1, rejected: [{ line: 2 }] });
});

test("refuses a line longer than the API reads without buffering it", async () => {
  const long = bytesOf(`{"query":"q","contexts":["${"x".repeat(3_000_000)}"]}\n${LINE}\n`);
  const [first, ...rest] = await collect(readDocuments(streamOf(pieces(long, 65_536))));
  expect(first?.length).toBeLessThan(100);
  expect(() => JSON.parse(first ?? "") as unknown).toThrow(SyntaxError);
  expect(rest).toEqual([LINE]);
});

test("keeps a byte order mark inside the file", async () => {
  expect(await collect(readDocuments(bytesOf(`${LINE}\n\u{feff}${LINE}\n`)))).toEqual([LINE, `\u{feff}${LINE}`]);
});

test("keeps numbers as written", async () => {
  const line = '{"query":"q","contexts":["a"],"metadata":{"n":1546130668394913823}}';
  expect(await collect(readDocuments(bytesOf(line)))).toEqual([line]);
});

test("rejects a stream of strings with the fix", async () => {
  await expect(collect(readDocuments(slowly([LINE]) as never))).rejects.toThrow("Do not set an encoding on the stream");
});

test("cancels a stream that is not read to its end", async () => {
  let canceled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(bytesOf(`${LINE}\n`)),
    cancel: () => {
      canceled = true;
    },
  });
  for await (const document of readDocuments(stream)) {
    expect(document).toBe(LINE);
    break;
  }
  expect(canceled).toBe(true);
});
