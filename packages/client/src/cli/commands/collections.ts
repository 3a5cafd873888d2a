import { createInterface } from "node:readline";
import type { CollectionDeletion } from "../../types.ts";
import { collectionName } from "../choices.ts";
import { clientOf, CommandError, type Cli } from "../cli.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { ago, count, plural } from "../text.ts";

export interface DeleteCollectionFlags {
  readonly yes?: true;
}

/** Shows a collection's counts, and how far its deletion has come. */
export async function getCollection(cli: Cli, text: string): Promise<ExitCode> {
  const { out, now } = cli;
  const name = checked(text);
  const collection = await clientOf(cli).collection(name, { signal: cli.signal });
  if (!out.human) {
    out.record(collection);
    return EXIT.ok;
  }
  const { counts, counted_all: isAll, deletion } = collection;
  const by = (["processing", "succeeded", "failed", "canceled"] as const)
    .filter((status) => counts[status] > 0)
    .map((status) => `${count(counts[status])} ${status}`);
  const list = by.length === 0 ? "" : `: ${by.join(", ")}`;
  out.print(`${name} has ${isAll ? "" : "more than "}${plural(counts.total, "recorded document")}${list}.`);
  if (deletion !== null) out.print(deletionWords(deletion, now()));
  return EXIT.ok;
}

/** Deletes a collection after a confirmation: its name, typed. */
export async function deleteCollection(cli: Cli, text: string, { yes }: DeleteCollectionFlags): Promise<ExitCode> {
  const { out } = cli;
  const name = checked(text);
  const client = clientOf(cli);
  if (yes !== true) await confirm(cli, name);
  const deletion = await client.deleteCollection(name, { signal: cli.signal });
  if (!out.human) {
    out.record(deletion);
    return EXIT.ok;
  }
  out.print(deletionWords(deletion, cli.now()));
  if (deletion.completed_at === null) out.print(`Follow it: sluice collections get ${name}`);
  return EXIT.ok;
}

/** The name of a collection. A URL would resolve `..`. */
function checked(name: string): string {
  try {
    return collectionName(name);
  } catch (error) {
    throw new CommandError(EXIT.usage, error instanceof Error ? error.message : String(error));
  }
}

function deletionWords(deletion: CollectionDeletion, now: number): string {
  const { through, requested_at: requested, completed_at: completed, deleted_documents: documents } = deletion;
  const deleted = plural(documents, "version");
  return completed === null
    ? `Being deleted through ${through}, requested ${ago(requested, now)}: ${deleted} deleted so far.`
    : `Deleted through ${through}, ${ago(completed, now)}: ${deleted} of documents.`;
}

/** Throws unless the first line of standard input is the collection's name. */
async function confirm({ out, stdin, signal }: Cli, name: string): Promise<void> {
  out.note(
    `This deletes every document pushed into ${name} so far, with texts and scores, and cancels what is in progress.`,
  );
  out.note("Type the name of the collection to confirm:");
  const answer = await firstLine(stdin, signal);
  signal.throwIfAborted();
  if (answer?.trim() === name) return;
  throw new CommandError(EXIT.usage, "Nothing was deleted: the name was not confirmed. Confirm it, or pass --yes.");
}

/** `null` if the input ends without a line. */
async function firstLine(input: Cli["stdin"], signal: AbortSignal): Promise<string | null> {
  for await (const line of createInterface({ input, signal })) return line;
  return null;
}
