import { describe, expect, it } from "vitest";
import { DEFAULT_MODEL, estimateTextTokens, estimateTokens } from "../src/index.ts";

describe("the token estimate", () => {
  it("counts the query again with each context", () => {
    const contexts = Array.from({ length: 100 }, () => "c".repeat(40));
    expect(estimateTokens(DEFAULT_MODEL, "q".repeat(400), contexts)).toBe(100 * (100 + 10));
  });

  it("counts a text only up to the model's window", () => {
    const long = "x".repeat(100_000);
    expect(estimateTokens(DEFAULT_MODEL, "word", [long])).toBe(1 + 8_192);
    expect(estimateTokens(DEFAULT_MODEL, long, ["word", "word"])).toBe(2 * (8_192 + 1));
  });

  // Counts by the tokenizer of XLM-RoBERTa on FLORES-200, as cited in tokens.ts.
  it.each([
    ["English", "The quick brown fox jumps over the lazy dog.", 4, 4.3],
    ["Czech", "Příliš žluťoučký kůň úpěl ďábelské ódy nad řekou.", 2, 3.6],
    ["Russian", "Съешь же ещё этих мягких французских булок, да выпей чаю.", 2.4, 4],
    ["Hebrew", "דג סקרן שט בים מאוכזב ולפתע מצא חברה", 2.4, 3],
    ["Arabic", "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر", 2.4, 3.3],
    ["Hindi", "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता", 2.4, 3.4],
    ["Thai", "เป็นมนุษย์สุดประเสริฐเลิศคุณค่ากว่าบรรดาฝูงสัตว์เดรัจฉาน", 2.4, 3.9],
    ["Chinese", "雪崩并不是异常现象；陡坡上所能纳的雪量有限。", 1, 1.4],
    ["Japanese", "いろはにほへとちりぬるを色は匂へど散りぬるを", 1, 1.7],
    ["Korean", "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다", 1, 1.9],
  ])("assumes fewer characters of %s per token than the tokenizer", (_, text, least, measured) => {
    const perToken = text.length / estimateTextTokens(text);
    expect(perToken).toBeGreaterThanOrEqual(least);
    expect(perToken).toBeLessThan(measured);
  });

  it("counts a character outside the basic plane once", () => {
    expect(estimateTextTokens("😀😀")).toBe(2);
    expect(estimateTextTokens("𠮷")).toBe(1);
  });
});
