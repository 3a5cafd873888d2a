import { expect, test } from "vitest";
import { documentText, parseAnswer } from "../../src/parse-answer.ts";

const answerOf = (metadata: string) =>
  `{"id":"d","query":"\\"metadata\\":{\\"a\\":9007199254740993}","metadata":${metadata}}`;
const textOf = (answer: string) => (parseAnswer(answer) as { metadata_json?: string }).metadata_json;

test.each([
  ["an integer beyond 2^53", '{"id":1546130668394913823}'],
  ["the first integer that a double does not hold", '{"a":[{"b":-9007199254740993}]}'],
  ["too many digits", '{"a":0.1000000000000000055511151231257827}'],
  ["too large a number", '{"a":1e400}'],
  ["too small a number", '{"a":-1e-400}'],
  ["a repeated name", '{"a":{"b":1,"b":1}}'],
  ["a repeated name in an escape", String.raw`{"a":1,"\u0061":2}`],
])("adds the text of metadata that JavaScript cannot represent: %s", (_, metadata) => {
  expect(textOf(answerOf(metadata))).toBe(metadata);
  expect(documentText(parseAnswer(answerOf(metadata)) as object)).toBe(answerOf(metadata));
});

test.each([
  "{}",
  "null",
  '{"a":[0,-0,0.0,-0e999999,1.0,1.50,1E5,1e+05,1e-7,0.1,5e-324,1.7976931348623157e308]}',
  '{"a":[9007199254740992,123456789012345680000,1e21,100000000000000000000000]}',
  String.raw`{"1546130668394913823":"1546130668394913823","a:":":","b":"\":1e400,\"","c":[true,false,null]}`,
  '{"__proto__":{"a":1}}',
])("adds no text to metadata that JavaScript can represent: %s", (metadata) => {
  expect(parseAnswer(answerOf(metadata))).toEqual(JSON.parse(answerOf(metadata)));
});

test("adds the text to each document of a page", () => {
  const page = (more: string) =>
    parseAnswer(`{"data":[${answerOf('{"a":1}')},${answerOf('{"b":1e400}')},{"id":"x"},${answerOf("null")}]${more}}`);
  const { data } = page(',"next_cursor":null') as { data: { metadata_json?: string }[] };
  expect(data.map((document) => document.metadata_json)).toEqual([undefined, '{"b":1e400}', undefined, undefined]);
});

test.each(["", "[", "<html>"])("throws on invalid JSON: %j", (text) => {
  expect(() => parseAnswer(text)).toThrow(SyntaxError);
});
