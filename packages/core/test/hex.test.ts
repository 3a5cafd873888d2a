import { expect, it } from "vitest";
import { sha256Hex, toHex } from "../src/hex.ts";

it("hex has two digits for each byte, in lower case", () => {
  expect(toHex(Uint8Array.of(0, 1, 0x0f, 0xa0, 0xff))).toBe("00010fa0ff");
  expect(toHex(new Uint8Array())).toBe("");
});

it("SHA-256 matches the standard's example", async () => {
  expect(await sha256Hex(new TextEncoder().encode("abc"))).toBe(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
});
