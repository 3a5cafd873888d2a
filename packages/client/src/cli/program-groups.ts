import { Option, type Command } from "commander";
import { collectionNames, listOf, scopes } from "./choices.ts";
import type { Cli } from "./cli.ts";
import { deleteCollection, getCollection, type DeleteCollectionFlags } from "./commands/collections.ts";
import { newKey, type KeyFlags } from "./commands/operate.ts";
import type { ExitCode } from "./exit-codes.ts";
import { refuseUnknown } from "./unknown-command.ts";

/** Adds a command with its examples. Its action receives the context, the arguments and the options. */
export type AddCommand = (
  usage: string,
  description: string,
  examples: readonly string[],
  work: (cli: Cli, args: readonly (string | undefined)[], flags: never) => Promise<ExitCode> | ExitCode,
  parent?: Command,
) => Command;

/** Adds the commands with subcommands. */
export function addGroups(program: Command, command: AddCommand): void {
  const collections = program
    .command("collections")
    .description("count or delete the documents of a collection")
    .helpCommand(false)
    .addHelpText("before", refuseUnknown);
  command(
    "get <name>",
    "a collection's counts, and the progress of its deletion",
    ["sluice collections get docs"],
    (cli, [name = ""]) => getCollection(cli, name),
    collections,
  );
  command(
    "delete <name>",
    "delete all documents pushed into a collection so far; asks first",
    ["sluice collections delete docs", "sluice collections delete docs --yes"],
    (cli, [name = ""], flags: DeleteCollectionFlags) => deleteCollection(cli, name, flags),
    collections,
  ).option("-y, --yes", "do not ask");

  const keys = program
    .command("keys")
    .description("manage API keys")
    .helpCommand(false)
    .addHelpText("before", refuseUnknown);
  command(
    "new",
    "create a key and its SLUICE_API_KEYS entry; nothing is sent",
    ["sluice keys new --name search", "sluice keys new --name importer --scopes ingest --collections docs,faq"],
    (cli, _, flags: KeyFlags) => newKey(cli, flags),
    keys,
  )
    .option("--name <name>", "the owner's name", "default")
    .addOption(
      new Option("--scopes <scopes>", "ingest, read, admin, separated by commas")
        .argParser(listOf(scopes))
        .default(["ingest", "read"], "ingest,read"),
    )
    .option("--collections <names>", "only these collections, separated by commas", collectionNames);
}
