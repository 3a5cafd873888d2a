import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lexicalScore } from "@sluice/local-ai/lexical";
import { afterEach, describe, expect, it } from "vitest";
import { startModel } from "../../src/model-process.ts";
import { cranfieldGain, cranfieldLines, hasCranfield, ndcg, type CranfieldDocument } from "./cranfield.ts";
import { Together } from "./stack.ts";

if (!hasCranfield) console.log("The Cranfield documents are not beside the checkout. Skipping their tests.");

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(modelUrl?: string): Promise<Together> {
  const together = await Together.start(modelUrl);
  cleanups.push(() => together.stop());
  return together;
}

const parse = (line: string) => JSON.parse(line) as CranfieldDocument;
type Row = { document_id: string; context_id: string; score: number; rank: number };

describe.runIf(hasCranfield)("real queries with twenty abstracts each", () => {
  it("get 4,500 scores, each for the right pair", { timeout: 120_000 }, async () => {
    const together = await start();
    const lines = cranfieldLines();
    const { id, accepted } = await together.pushLines(lines, "cran");
    expect(accepted).toBe(225);
    expect(await together.finish(id)).toMatchObject({ counts: { total: 225, succeeded: 225 } });
    const rows = await together.sql<Row>(
      "SELECT document_id, context_id, score, rank FROM scores WHERE collection = 'cran'",
    );
    expect(rows).toHaveLength(4_500);
    const documents = new Map(lines.map(parse).map((document) => [document.id, document]));
    for (const row of rows) {
      const document = documents.get(row.document_id);
      const text = document?.contexts.find((context) => context.id === row.context_id)?.text ?? "";
      expect(row.score).toBe(lexicalScore(document?.query ?? "", text));
    }
    const ranks = Map.groupBy(rows, (row) => row.document_id);
    for (const own of ranks.values()) {
      expect(own.map((row) => row.rank).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    }
  });

  it("have the model's ranks in D1", { timeout: 180_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-model-"));
    const model = startModel(join(folder, "log"));
    cleanups.push(
      () => rmSync(folder, { recursive: true, force: true }),
      () => model.stop(4_000),
    );
    const url = await model.url;
    if (url === null) throw new Error("the model process ended");
    const together = await start(url);
    const lines = cranfieldLines().slice(0, 2);
    const documents = lines.map(parse);
    const { id } = await together.pushLines(lines, "cran");
    await together.finish(id);
    const [job] = await together.sql<{ request_id: string }>("SELECT request_id FROM jobs");
    const direct = (await (await fetch(`${url}/batches/${job?.request_id ?? ""}`)).json()) as { scores: number[][] };
    const rows = await together.sql<Row>(
      "SELECT document_id, context_id, score, rank FROM scores ORDER BY document_id, rank",
    );
    const gain = cranfieldGain();
    const figures = documents.map((document, n) => {
      const own = rows.filter((row) => row.document_id === document.id);
      const wanted = document.contexts
        .map((context, index) => ({ context_id: context.id, score: direct.scores[n]?.[index] ?? Number.NaN, index }))
        .toSorted((a, b) => b.score - a.score || a.index - b.index);
      expect(own.map(({ context_id, score }) => ({ context_id, score }))).toEqual(
        wanted.map(({ context_id, score }) => ({ context_id, score })),
      );
      return {
        ours: ndcg(own.map((row) => gain(document.id, row.context_id))) ?? 0,
        words: ndcg(document.contexts.map((context) => gain(document.id, context.id))) ?? 0,
      };
    });
    const sum = (what: "ours" | "words") => figures.reduce((total, figure) => total + figure[what], 0);
    expect(sum("ours")).toBeGreaterThan(sum("words"));
  });
});
