import { expect, test } from "vitest";
import { readDocuments } from "../../src/index.ts";
import { FakeApi } from "../fake-api.ts";
import { clientOf, collect, slowly, streamOf } from "./client.ts";

const encoder = new TextEncoder();
const bytesOf = (text: string) => new Uint8Array(encoder.encode(text));

/** Other readers end lines at these too. */
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
  ["a list of pieces", () => pieces(file, 50)],
])("documents of %s are cut at line feeds only", async (_, input) => {
  expect(await collect(readDocuments(input()))).toEqual([LINE, LINE, LINE]);
});

test("a document that holds U+2028 and U+2029 is pushed as one", async () => {
  const api = new FakeApi();
  const pushed = await clientOf(api).client.push(readDocuments(bytesOf(`${LINE}\n`)));
  expect(pushed).toMatchObject({ accepted: 1, rejectedCount: 0 });
  expect(api.received[0]?.text).toBe(`${LINE}\n`);
});

test("a line that is not UTF-8 is refused, and the others are taken", async () => {
  const api = new FakeApi();
  const bad = [...bytesOf('{"query":"caf'), 0xe9, ...bytesOf('","contexts":["a"]}\n')];
  const bytes = new Uint8Array([...bytesOf(`${LINE}\n`), ...bad, ...bytesOf(`${LINE}\n`)]);
  const pushed = await clientOf(api).client.push(readDocuments(bytes));
  expect(pushed).toMatchObject({ accepted: 2, rejectedCount: 1, rejected: [{ line: 2 }] });
});

test("a line longer than the API reads is refused and not held", async () => {
  const long = bytesOf(`{"query":"q","contexts":["${"x".repeat(3_000_000)}"]}\n${LINE}\n`);
  const [first, ...rest] = await collect(readDocuments(streamOf(pieces(long, 65_536))));
  expect(first?.length).toBeLessThan(100);
  expect(() => JSON.parse(first ?? "") as unknown).toThrow(SyntaxError);
  expect(rest).toEqual([LINE]);
});

test("a byte order mark within the file stays where it is", async () => {
  expect(await collect(readDocuments(bytesOf(`${LINE}\n\u{feff}${LINE}\n`)))).toEqual([LINE, `\u{feff}${LINE}`]);
});

test("numbers stay as they are written", async () => {
  const line = '{"query":"q","contexts":["a"],"metadata":{"n":1546130668394913823}}';
  expect(await collect(readDocuments(bytesOf(line)))).toEqual([line]);
});

test("a stream of texts is an error that says what to change", async () => {
  await expect(collect(readDocuments(slowly([LINE]) as never))).rejects.toThrow("leave a stream's encoding unset");
});

test("a stream that is not read to its end is canceled", async () => {
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
