import { describe, expect, it } from "vitest";
import { ResumedParts } from "../src/push/resumed-parts.ts";

/** `i`: an inline part, of two documents. `s`: a staged part, of one. */
type Kind = "i" | "s";
type State = "recorded" | "staged" | "unknown";

/** Every list of parts of this length. */
function listsOf<T>(length: number, values: readonly T[]): T[][] {
  if (length === 0) return [[]];
  return listsOf(length - 1, values).flatMap((list) => values.map((value) => [...list, value]));
}

const documentsOf = (kind: Kind) => (kind === "i" ? 2 : 1);

interface Part {
  readonly kind: Kind;
  readonly isCounted: boolean;
  readonly state: State;
}

/**
 * What an interrupted push may leave: up to some part, the staged parts are counted, and the first of the inline ones; the
 * first part always is. Each counted part may be recorded.
 */
function leftBehind(kinds: readonly Kind[]): Part[][] {
  const left: Part[][] = [];
  for (let reached = 1; reached <= kinds.length; reached += 1) {
    const inline = kinds.slice(0, reached).filter((kind) => kind === "i").length;
    for (let counted = kinds[0] === "i" ? 1 : 0; counted <= inline; counted += 1) {
      for (const isFirstStaged of kinds[0] === "s" && reached === 1 ? [false, true] : [true]) {
        let inlineSeen = 0;
        const parts = kinds.map((kind, index): Part => {
          if (kind === "i") inlineSeen += 1;
          const isCounted = index === 0 || (kind === "s" ? index < reached : inlineSeen <= counted);
          const isStaged = kind === "s" && isCounted && (index > 0 || isFirstStaged);
          return { kind, isCounted, state: isStaged ? "staged" : "unknown" };
        });
        left.push(...recordSome(parts));
      }
    }
  }
  return left;
}

function recordSome(parts: readonly Part[]): Part[][] {
  return parts.reduce<Part[][]>(
    (lists, part) => {
      const ways: Part[] = part.isCounted ? [part, { ...part, state: "recorded" }] : [part];
      return lists.flatMap((list) => ways.map((way) => [...list, way]));
    },
    [[]],
  );
}

const sum = (parts: readonly Part[]) => parts.reduce((documents, { kind }) => documents + documentsOf(kind), 0);
const totalOf = (parts: readonly Part[]) => sum(parts.filter(({ isCounted }) => isCounted));

function countedParts(parts: readonly Part[]): ResumedParts {
  return new ResumedParts(
    totalOf(parts),
    parts.flatMap(({ kind, state }, part) =>
      state === "unknown"
        ? []
        : [
            {
              part,
              documentCount: documentsOf(kind),
              hash: `hash-${part}`,
              state: state === "recorded" ? "recorded" : "staged",
            } as const,
          ],
    ),
  );
}

const orders = [1, 2, 3, 4, 5, 6].flatMap((length) => listsOf<Kind>(length, ["i", "s"]));

describe("the parts that a resumed push finds counted", () => {
  it.each([1, 2, 3, 4, 5, 6])("are found one by one, in every order of %i parts and every state of each", (length) => {
    let cases = 0;
    for (const kinds of orders.filter((order) => order.length === length)) {
      for (const parts of leftBehind(kinds)) {
        cases += 1;
        const counted = countedParts(parts);
        const taken = parts.map(({ kind }, part) => counted.take(part, `hash-${part}`, documentsOf(kind)));
        const expected = parts.map(({ kind, isCounted, state }) => ({
          state,
          uncounted: isCounted ? 0 : documentsOf(kind),
        }));
        expect({ parts, taken, isAllTaken: counted.isAllTaken }).toEqual({ parts, taken: expected, isAllTaken: true });
      }
    }
    expect(cases).toBeGreaterThanOrEqual(2 ** length);
  });

  it.each(["recorded", "staged"] as const)("belong to another push if a %s part has another hash", (state) => {
    const counted = countedParts([{ kind: "s", isCounted: true, state }]);
    expect(counted.take(0, "another", 1)).toBeNull();
  });

  it("belong to another push if a part is counted in part", () => {
    const counted = new ResumedParts(3, []);
    expect(counted.take(0, "a", 2)).toEqual({ state: "unknown", uncounted: 0 });
    expect(counted.take(1, "b", 2)).toBeNull();
  });

  it.each([
    ["recorded", [{ part: 1, documentCount: 2, hash: "b", state: "recorded" }]],
    ["sent", []],
  ] as const)("are not all taken where the push ends before one that was %s", (_, known) => {
    const counted = new ResumedParts(4, known);
    counted.take(0, "a", 2);
    expect(counted.isAllTaken).toBe(false);
  });
});
