import type { Score } from "../../types/documents.ts";
import { clientOf, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { oneLine } from "../text.ts";
import { DOCUMENT_STATUS, documentCommand } from "../words.ts";

export interface ScoresFlags {
  readonly collection: string;
  readonly topK?: number;
  readonly text?: boolean;
}

/** Prints a document's contexts, best first. */
export async function scores(cli: Cli, id: string, flags: ScoresFlags): Promise<ExitCode> {
  const { out, signal } = cli;
  const { collection, topK, text = false } = flags;
  const document = await clientOf(cli).document(collection, id, { topK, include: text ? ["text"] : [], signal });
  if (!out.human) {
    for (const score of document.scores) out.record({ collection, document_id: document.id, ...score });
  } else {
    out.print(`${out.style(document.id, "bold")}  ${oneLine(document.query)}`);
    if (document.stale)
      out.print(out.style("These scores are from an older version. The newest version has none yet.", "yellow"));
    if (document.scores.length > 0) {
      out.print("");
      out.table(
        [
          { title: "RANK", side: "right" },
          { title: "SCORE", side: "right" },
          { title: "CONTEXT" },
          ...(text ? [{ title: "TEXT" }] : []),
        ],
        document.scores.map((score) => [
          String(score.rank),
          score.score.toFixed(4),
          score.context_id,
          ...(text ? [score.text ?? expired(score)] : []),
        ]),
      );
    }
  }
  if (document.scores.length > 0) return EXIT.ok;
  out.note(
    `${oneLine(document.id)} ${DOCUMENT_STATUS[document.status]} and has no scores. ` +
      `To find out why: ${documentCommand("why", document)}`,
  );
  return document.status === "failed" || document.status === "canceled" ? EXIT.failed : EXIT.ok;
}

/** What stands in for a text that is gone. */
function expired({ text_expired_at: at }: Score): string {
  return at == null ? "(deleted)" : `(expired ${at.slice(0, 10)})`;
}
