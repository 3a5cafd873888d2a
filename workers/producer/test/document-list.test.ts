import { describe, expect, it } from "vitest";
import { findDocumentList } from "../src/push/document-list.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** The parts that a body is split into; `null`: it is not split. */
function cut(body: string | Uint8Array) {
  const list = findDocumentList(typeof body === "string" ? bytes(body) : body);
  return list === null ? null : { envelope: list.envelope, count: list.count, texts: [...list.texts()] };
}

/** The parts as `JSON.parse` reads them; `null` if one of them is not valid. */
function reassembled(body: string): unknown {
  const parts = cut(body);
  if (parts === null) return null;
  try {
    const envelope = JSON.parse(parts.envelope) as { documents: unknown };
    return { ...envelope, documents: parts.texts.map((text): unknown => JSON.parse(text ?? "")) };
  } catch {
    return null;
  }
}

describe("the list of documents in a body", () => {
  it("is split into the texts of its entries and an envelope without them", () => {
    expect(cut('{"lane":"bulk","documents":[{"id":"a"} , {"id":"b"}],"label":"x"}')).toEqual({
      envelope: '{"lane":"bulk","documents":[null],"label":"x"}',
      count: 2,
      texts: ['{"id":"a"} ', ' {"id":"b"}'],
    });
  });

  it.each([
    '{"documents":[{"query":"[,]{}\\"\\\\","contexts":["\\\\\\"",[],{}]}]}',
    '\uFEFF {"documents" : [ 1 , -2.5e3 ,true, null,"a" , [ [ ] ] , { } ] }\n',
    '{"a":{"documents":[1,2]},"documents":[[1,[2,3]],{"x":{"y":[4]}}],"b":[{}]}',
    '{"documents":["é😀 \u2028",{"ключ":"значение"}]}',
    '{"documents":[[[[[[[[1]]]]]]]]}',
  ])("holds what JSON.parse reads in %s", (body) => {
    const whole = JSON.parse(body.replace(/^\uFEFF/, "")) as unknown;
    expect(reassembled(body)).toEqual(whole);
  });

  it.each([
    "",
    "{",
    "[]",
    '{"documents":[]}',
    '{"documents":[',
    '{"documents":["',
    '{"documents":{}}',
    '{"documents":null}',
    '{"document":[1]}',
    '{"documents":[1],"documents":[2]}',
    '{"documents":[1],"docu\\u006dents":[2]}',
    '{"a":{"documents":[1]}}',
  ])("is not found in %s", (body) => {
    expect(cut(body)).toBeNull();
  });

  it.each([
    '{"documents":[1,]}',
    '{"documents":[,1]}',
    '{"documents":[1,,2]}',
    '{"documents":[1 2]}',
    '{"documents":[{"a":1]]}',
    '{"documents":[1]]}',
    '{"documents":[1]} x',
    '{"documents":[1],}',
    '{"documents":[1]"lane":"bulk"}',
    '{"documents":[tru]}',
    '{"documents":["\n"]}',
    '{"documents":[\uFEFF1]}',
    '{"documents":[1}',
    '{"documents":["a}]}',
    '{"documents":[1}}',
    '{"documents":[{"a":[1]}},"lane":"bulk"}',
    '{"documents":[{"a":1}]}}',
  ])("or its envelope is no valid JSON where the body %s is none", (body) => {
    expect(() => JSON.parse(body) as unknown).toThrow(SyntaxError);
    expect(reassembled(body)).toBeNull();
  });

  it("has no text for an entry that is not UTF-8", () => {
    const body = bytes('{"documents":["a","?"]}');
    body[19] = 0xff;
    expect(cut(body)).toMatchObject({ count: 2, texts: ['"a"', null] });
  });
});
