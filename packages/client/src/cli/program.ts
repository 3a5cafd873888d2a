import { Command, Option } from "commander";
import manifest from "../../package.json" with { type: "json" };
import {
  MOST,
  collectionName,
  collectionNames,
  documentStatuses,
  dollarsOf,
  failureCodes,
  includes,
  jobStatuses,
  keyOf,
  lanes,
  listOf,
  models,
  scopes,
  submissionFilters,
  wholeNumber,
} from "./choices.ts";
import type { Cli } from "./cli.ts";
import { argumentTerm, choice } from "./options.ts";
import type { Sink } from "./output.ts";
import { jobs, type JobsFlags } from "./commands/jobs.ts";
import { malformed, type MalformedFlags } from "./commands/malformed.ts";
import {
  cancel,
  newKey,
  pause,
  resume,
  retry,
  type KeyFlags,
  type PauseFlags,
  type RetryFlags,
} from "./commands/operate.ts";
import type { PushFlags } from "./commands/push-options.ts";
import { results, tail, type ResultsFlags, type TailFlags } from "./commands/results.ts";
import { scores, type ScoresFlags } from "./commands/scores.ts";
import { status, type StatusFlags } from "./commands/status.ts";
import { why, type WhyFlags } from "./commands/why.ts";
import { ENVIRONMENT_HELP } from "./environment.ts";
import { EXIT_HELP, type ExitCode } from "./exit-codes.ts";
import { LEFT_OUT } from "./formats/format.ts";
import { formatNames } from "./formats/index.ts";
import { harmless } from "./text.ts";
import { refuseUnknown } from "./unknown-command.ts";

const OUTPUT = new Option("-o, --output <form>", "table, or ndjson (the default where stdout is no terminal)").choices([
  "table",
  "ndjson",
]);

/** Runs a command with what it was given; `open` makes what it works with from `--output`. */
export type Run = (
  work: (cli: Cli) => Promise<ExitCode> | ExitCode,
  output: "table" | "ndjson" | undefined,
) => Promise<void>;

/** The command's arguments and what they run. Help and wrong usage go to the streams. */
export function createProgram(
  run: Run,
  { stdout, stderr }: { readonly stdout: Sink; readonly stderr: Sink } = process,
): Command {
  const program = new Command("sluice")
    .description("Pushes documents to Sluice, and tells how they fare.")
    .version(manifest.version)
    .helpCommand(false)
    .addHelpText("before", refuseUnknown)
    // Its messages quote the arguments.
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(harmless(text)) })
    .configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(argumentTerm)].join(" "),
    })
    .addHelpText("after", `\n${ENVIRONMENT_HELP}\n\n${EXIT_HELP}\n\nEvery command has examples: sluice COMMAND --help`);

  /** A command with its examples; its action gets the arguments, the options, and what it works with. */
  const command = (
    usage: string,
    description: string,
    examples: readonly string[],
    work: (cli: Cli, args: readonly (string | undefined)[], flags: never) => Promise<ExitCode> | ExitCode,
    parent: Command = program,
  ): Command =>
    parent
      .command(usage)
      .description(description)
      .addOption(OUTPUT)
      .addHelpText("after", `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`)
      .action((...given: unknown[]) => {
        const self = given.at(-1) as Command;
        const empty = self.registeredArguments[self.args.indexOf("")];
        if (empty !== undefined) self.error(`error: ${argumentTerm(empty)} must not be empty`);
        // The options below each command are what its work says they are.
        const { output, ...flags } = self.opts<{ output?: "table" | "ndjson" }>();
        return run((cli) => work(cli, self.args, flags as never), output);
      });

  command(
    "push <file>",
    "push a file (- for standard input) and follow it until every document ended",
    [
      "sluice push documents.ndjson",
      "sluice push documents.ndjson --label nightly --collection docs",
      "sluice push documents.ndjson --estimate",
      "sluice push requests.jsonl --format voyage --max-usd 5",
      "generate-documents | sluice push - --no-wait",
    ],
    async (cli, [file = ""], flags: PushFlags) => {
      // It brings the rules of the API, which the others need not load.
      const { pushFile } = await import("./commands/push.ts");
      return pushFile(cli, file, flags);
    },
  )
    .addOption(new Option("-f, --format <format>", "what the file holds").choices(formatNames).default("sluice"))
    .addOption(choice("--header <answer>", "if tsv has a header (default: by what it names)", ["yes", "no"]))
    .option("-c, --collection <name>", "where the documents go (default: default)", collectionName)
    .option("-l, --label <label>", "a name to find the submission by")
    .addOption(choice("--lane <lane>", "which queue (default: interactive up to 100 documents)", lanes))
    .addOption(choice("--model <model>", "what scores (default: @cf/baai/bge-m3)", models))
    .option("--no-truncate", "refuse texts beyond the model's window instead of cutting them")
    .option(
      "-k, --key <key>",
      "idempotency key (default: made of the file's content, so that the same file goes on)",
      keyOf,
    )
    .option("--gzip", "send packed")
    .option("--estimate", "tell tokens, jobs and dollars, and send nothing")
    .option("--max-usd <dollars>", "send nothing if the estimate is higher", dollarsOf)
    .option("--no-wait", "end once everything is sent")
    .addHelpText(
      "after",
      `
Formats:
  sluice  a document a line: {"id"?, "query", "contexts": ["text" | {"id"?, "text"}], "metadata"?}
  cohere  a rerank request a line, or one JSON: {"query", "documents": ["text" | {"text"}], "id"?}
  voyage  a batch request a line: {"custom_id", "body": {"query", "documents"}}
  tsv     rows of query id, query, context id, text; those of one query id in a row

A JSON file may also hold one list, on one line or over several: each of its items is a document.

Of cohere and voyage requests ${LEFT_OUT.join(", ")}
and truncation: true (and method, url of a batch line) are left out. Any other field is refused by its name,
since the scores would not be what it asks for.

Refused lines, and refused items of lists, go to FILE.rejected.ndjson (.tsv for tsv) as they are. What is packed with gzip is unpacked.`,
    );

  command(
    "status [submission]",
    "how a submission stands, or the newest ones",
    ["sluice status", "sluice status --label nightly", "sluice status sub_0198c0de-…"],
    (cli, [id], flags: StatusFlags) => status(cli, id, flags),
  )
    .option("-l, --label <label>", "those of a label, and their counts in all")
    .option("-c, --collection <name>", "those of a collection", collectionName)
    .addOption(choice("-s, --status <status>", "only this status", submissionFilters))
    .option("-n, --limit <number>", `at most this many, up to ${MOST}`, wholeNumber(MOST), 20);

  command(
    "results <submission>",
    "its documents with their scores",
    [
      "sluice results sub_0198c0de-… > results.ndjson",
      "sluice results sub_0198c0de-… --top-k 3 --include text",
      "sluice results sub_0198c0de-… --status failed",
    ],
    (cli, [id = ""], flags: ResultsFlags) => results(cli, id, flags),
  )
    .addOption(choice("-s, --status <status>", "only this status", documentStatuses))
    .option("--top-k <number>", "the top K scores per document", wholeNumber(MOST))
    .option("--include <parts>", "text, metadata, or both with a comma", listOf(includes));

  command(
    "scores <document>",
    "a document's contexts, the best first",
    ["sluice scores q001", "sluice scores q001 --collection docs --top-k 5 --text"],
    (cli, [id = ""], flags: ScoresFlags) => scores(cli, id, flags),
  )
    .option("-c, --collection <name>", "where it is", collectionName, "default")
    .option("--top-k <number>", "the top K contexts", wholeNumber(MOST))
    .option("--text", "the contexts' texts too");

  command(
    "why <id>",
    "what a document, submission or job waits for, its attempts, and what to do",
    ["sluice why q001", "sluice why sub_0198c0de-…", "sluice why job_0198c0de-…"],
    (cli, [id = ""], flags: WhyFlags) => why(cli, id, flags),
  ).option("-c, --collection <name>", "where the document is", collectionName, "default");

  command(
    "jobs [job]",
    "a Batch API call, or the newest ones",
    ["sluice jobs", "sluice jobs --status dispatched", "sluice jobs job_0198c0de-…"],
    (cli, [id], flags: JobsFlags) => jobs(cli, id, flags),
  )
    .addOption(choice("-s, --status <status>", "only this status", jobStatuses))
    .addOption(choice("--lane <lane>", "those of a lane", lanes))
    .option("-n, --limit <number>", `at most this many, up to ${MOST}`, wholeNumber(MOST), 20);

  command(
    "retry <submission>",
    "queue its failed documents again",
    ["sluice retry sub_0198c0de-…", "sluice retry sub_0198c0de-… --code model_error"],
    (cli, [id = ""], flags: RetryFlags) => retry(cli, id, flags),
  ).addOption(choice("--code <code>", "those of one failure code only", failureCodes));

  command(
    "cancel <submission>",
    "cancel what is not dispatched yet",
    ["sluice cancel sub_0198c0de-…"],
    (cli, [id = ""]) => cancel(cli, id),
  );

  for (const [name, description, work] of [
    ["pause", "stop dispatching: everything, a model or a submission", pause],
    ["resume", "go on dispatching", resume],
  ] as const) {
    const made = command(
      name,
      description,
      [`sluice ${name}`, `sluice ${name} --model @cf/baai/bge-m3`, `sluice ${name} --submission sub_0198c0de-…`],
      (cli, _, flags: PauseFlags) => work(cli, flags),
    )
      .addOption(choice("--model <model>", "this model only", models).conflicts("submission"))
      .option("--submission <submission>", "this submission only");
    if (name === "pause") made.option("--reason <words>", "why, for others to read");
  }

  command(
    "malformed",
    "quarantined messages: list them, send them to their queues again, or discard one",
    ["sluice malformed", "sluice malformed --replay", "sluice malformed --discard msg_c2x1aWNl…"],
    (cli, _, flags: MalformedFlags) => malformed(cli, flags),
  )
    .option("--replay [message]", "send this one, or all of them, to their queues again")
    .addOption(new Option("--discard <message>", "forget this one").conflicts("replay"))
    .option("-n, --limit <number>", `at most this many, up to ${MOST}`, wholeNumber(MOST), 20);

  command(
    "tail",
    "documents as they end, until Ctrl-C",
    ["sluice tail", "sluice tail --collection docs --top-k 1", "sluice tail --cursor eyJz… >> results.ndjson"],
    (cli, _, flags: TailFlags) => tail(cli, flags),
  )
    .option("-c, --collection <name>", "those of a collection", collectionName)
    .option("--cursor <cursor>", "go on from here")
    .addOption(new Option("--all", "begin with the first that ever ended, not with the next").conflicts("cursor"))
    .option("--top-k <number>", "the top K scores per document", wholeNumber(MOST))
    .option("--include <parts>", "text, metadata, or both with a comma", listOf(includes));

  const keys = program
    .command("keys")
    .description("keys to the API")
    .helpCommand(false)
    .addHelpText("before", refuseUnknown);
  command(
    "new",
    "make a key, and the entry of SLUICE_API_KEYS for it; nothing is sent",
    ["sluice keys new --name search", "sluice keys new --name importer --scopes ingest --collections docs,faq"],
    (cli, _, flags: KeyFlags) => newKey(cli, flags),
    keys,
  )
    .option("--name <name>", "whose it is", "default")
    .addOption(
      new Option("--scopes <scopes>", "of ingest, read, admin, with commas")
        .argParser(listOf(scopes))
        .default(["ingest", "read"], "ingest,read"),
    )
    .option("--collections <names>", "only these, with commas", collectionNames);

  return program;
}
