import { Command, Option } from "commander";
import manifest from "../../package.json" with { type: "json" };
import {
  MAX_LISTED,
  collectionName,
  documentStatuses,
  dollarsOf,
  failureCodes,
  includes,
  jobStatuses,
  keyOf,
  lanes,
  listOf,
  models,
  submissionFilters,
  wholeNumber,
} from "./choices.ts";
import type { Cli } from "./cli.ts";
import { doctor, type DoctorFlags } from "./commands/doctor.ts";
import { jobs, type JobsFlags } from "./commands/jobs.ts";
import { malformed, type MalformedFlags } from "./commands/malformed.ts";
import { cancel, pause, resume, retry, type PauseFlags, type RetryFlags } from "./commands/operate.ts";
import type { PushFlags } from "./commands/push-options.ts";
import { results, tail, type ResultsFlags, type TailFlags } from "./commands/results.ts";
import { scores, type ScoresFlags } from "./commands/scores.ts";
import { status, type StatusFlags } from "./commands/status.ts";
import { why, type WhyFlags } from "./commands/why.ts";
import { ENVIRONMENT_HELP } from "./environment.ts";
import { EXIT_HELP, type ExitCode } from "./exit-codes.ts";
import { LEFT_OUT } from "./formats/format.ts";
import { formatNames } from "./formats/index.ts";
import { argumentTerm, choice } from "./options.ts";
import type { Sink } from "./output.ts";
import { addGroups, type AddCommand } from "./program-groups.ts";
import { harmless } from "./text.ts";
import { refuseUnknown } from "./unknown-command.ts";

const OUTPUT = new Option("-o, --output <form>", "table, or ndjson (the default if stdout is not a terminal)").choices([
  "table",
  "ndjson",
]);

/** Runs a command with its options. `open` creates its context from `--output`. */
export type Run = (
  work: (cli: Cli) => Promise<ExitCode> | ExitCode,
  output: "table" | "ndjson" | undefined,
) => Promise<void>;

/** The command's arguments and subcommands. Help and usage errors go to the streams. */
export function createProgram(
  run: Run,
  { stdout, stderr }: { readonly stdout: Sink; readonly stderr: Sink } = process,
): Command {
  const program = new Command("sluice")
    .description("Pushes documents to Sluice and reports their progress.")
    .version(manifest.version)
    .helpCommand(false)
    .addHelpText("before", refuseUnknown)
    // Error messages quote the arguments.
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(harmless(text)) })
    .configureHelp({
      subcommandTerm: (command) => [command.name(), ...command.registeredArguments.map(argumentTerm)].join(" "),
    })
    .addHelpText("after", `\n${ENVIRONMENT_HELP}\n\n${EXIT_HELP}\n\nEvery command has examples: sluice COMMAND --help`);

  const command: AddCommand = (usage, description, examples, work, parent = program) =>
    parent
      .command(usage)
      .description(description)
      .addOption(OUTPUT)
      .addHelpText("after", `\nExamples:\n${examples.map((example) => `  ${example}`).join("\n")}`)
      .action((...given: unknown[]) => {
        const self = given.at(-1) as Command;
        const empty = self.registeredArguments[self.args.indexOf("")];
        if (empty !== undefined) self.error(`error: ${argumentTerm(empty)} must not be empty`);
        // Each command's options must match the type that its function expects.
        const { output, ...flags } = self.opts<{ output?: "table" | "ndjson" }>();
        return run((cli) => work(cli, self.args, flags as never), output);
      });

  command(
    "push <file>",
    "push a file (- for standard input) and wait until every document has ended",
    [
      "sluice push documents.ndjson",
      "sluice push documents.ndjson --label nightly --collection docs",
      "sluice push documents.ndjson --estimate",
      "sluice push requests.jsonl --format voyage --max-usd 5",
      "generate-documents | sluice push - --no-wait",
    ],
    async (cli, [file = ""], flags: PushFlags) => {
      // Loads the API's rules, which other commands do not need.
      const { pushFile } = await import("./commands/push.ts");
      return pushFile(cli, file, flags);
    },
  )
    .addOption(new Option("-f, --format <format>", "the format of the file").choices(formatNames).default("sluice"))
    .addOption(choice("--header <answer>", "whether tsv has a header (default: detect it)", ["yes", "no"]))
    .option("-c, --collection <name>", "the collection of the documents (default: default)", collectionName)
    .option("-l, --label <label>", "a name for finding the submission")
    .addOption(choice("--lane <lane>", "the queue (default: interactive up to 100 documents)", lanes))
    .addOption(choice("--model <model>", "the model (default: @cf/baai/bge-m3)", models))
    .option("--no-truncate", "refuse texts that exceed the model's window instead of truncating them")
    .option("-k, --key <key>", "idempotency key (default: a hash of the file, so the same file resumes a push)", keyOf)
    .option("--gzip", "compress the request")
    .option("--estimate", "print tokens, jobs and dollars; send nothing")
    .option("--max-usd <dollars>", "send nothing if the estimate exceeds this", dollarsOf)
    .option("--no-wait", "exit once everything is sent")
    .addHelpText(
      "after",
      `
Formats:
  sluice  one document per line: {"id"?, "query", "contexts": ["text" | {"id"?, "text"}], "metadata"?}
  cohere  one rerank request per line, or one JSON value: {"query", "documents": ["text" | {"text"}], "id"?}
  voyage  one batch request per line: {"custom_id", "body": {"query", "documents"}}
  tsv     rows of query id, query, context id, text; rows with the same query id are adjacent

A JSON file may also be one list, on one line or several. Each item is a document.

In cohere and voyage requests, ${LEFT_OUT.join(", ")}
and truncation: true (and method and url of a batch line) are ignored. Any other field is refused,
because the scores could not honor it.

Refused lines and list items go unchanged to FILE.rejected.ndjson (.tsv for tsv). Gzip input is unpacked.`,
    );

  command(
    "status [submission]",
    "the status of a submission, or of the newest ones",
    ["sluice status", "sluice status --label nightly", "sluice status sub_0198c0de-…"],
    (cli, [id], flags: StatusFlags) => status(cli, id, flags),
  )
    .option("-l, --label <label>", "only this label, and its total counts")
    .option("-c, --collection <name>", "only this collection", collectionName)
    .addOption(choice("-s, --status <status>", "only this status", submissionFilters))
    .option("-n, --limit <number>", `at most this many, up to ${MAX_LISTED}`, wholeNumber(MAX_LISTED), 20);

  command(
    "results <submission>",
    "a submission's documents with their scores",
    [
      "sluice results sub_0198c0de-… > results.ndjson",
      "sluice results sub_0198c0de-… --top-k 3 --include text",
      "sluice results sub_0198c0de-… --status failed",
    ],
    (cli, [id = ""], flags: ResultsFlags) => results(cli, id, flags),
  )
    .addOption(choice("-s, --status <status>", "only this status", documentStatuses))
    .option("--top-k <number>", "the top K scores per document", wholeNumber(MAX_LISTED))
    .option("--include <parts>", "text, metadata, or text,metadata", listOf(includes));

  command(
    "scores <document>",
    "a document's contexts, best first",
    ["sluice scores q001", "sluice scores q001 --collection docs --top-k 5 --text"],
    (cli, [id = ""], flags: ScoresFlags) => scores(cli, id, flags),
  )
    .option("-c, --collection <name>", "its collection", collectionName, "default")
    .option("--top-k <number>", "the top K contexts", wholeNumber(MAX_LISTED))
    .option("--text", "include the contexts' texts");

  command(
    "why <id>",
    "explain what a document, submission or job waits for and what to do",
    ["sluice why q001", "sluice why sub_0198c0de-…", "sluice why job_0198c0de-…"],
    (cli, [id = ""], flags: WhyFlags) => why(cli, id, flags),
  ).option("-c, --collection <name>", "the document's collection", collectionName, "default");

  command(
    "jobs [job]",
    "a job (one Batch API call), or the newest ones",
    ["sluice jobs", "sluice jobs --status dispatched", "sluice jobs job_0198c0de-…"],
    (cli, [id], flags: JobsFlags) => jobs(cli, id, flags),
  )
    .addOption(choice("-s, --status <status>", "only this status", jobStatuses))
    .addOption(choice("--lane <lane>", "only this lane", lanes))
    .option("-n, --limit <number>", `at most this many, up to ${MAX_LISTED}`, wholeNumber(MAX_LISTED), 20);

  command(
    "retry <submission>",
    "queue a submission's failed documents again",
    ["sluice retry sub_0198c0de-…", "sluice retry sub_0198c0de-… --code model_error"],
    (cli, [id = ""], flags: RetryFlags) => retry(cli, id, flags),
  ).addOption(choice("--code <code>", "only this failure code", failureCodes));

  command(
    "cancel <submission>",
    "cancel documents that are not dispatched yet",
    ["sluice cancel sub_0198c0de-…"],
    (cli, [id = ""]) => cancel(cli, id),
  );

  for (const [name, description, work] of [
    ["pause", "stop dispatching everything, a model or a submission", pause],
    ["resume", "resume dispatching", resume],
  ] as const) {
    const made = command(
      name,
      description,
      [`sluice ${name}`, `sluice ${name} --model @cf/baai/bge-m3`, `sluice ${name} --submission sub_0198c0de-…`],
      (cli, _, flags: PauseFlags) => work(cli, flags),
    )
      .addOption(choice("--model <model>", "only this model", models).conflicts("submission"))
      .option("--submission <submission>", "only this submission");
    if (name === "pause") made.option("--reason <words>", "a reason for others to read");
  }

  command(
    "doctor",
    "what is wrong with the deployment, since when, and what to do",
    ["sluice doctor", "sluice doctor --json", "sluice doctor > /dev/null || notify-someone"],
    (cli, _, flags: DoctorFlags) => doctor(cli, flags),
  )
    .option("--json", "print one JSON value, as --output ndjson does")
    .addHelpText(
      "after",
      "\nExit codes: 0 nothing is wrong, 1 something is, 2 usage error, or the API cannot be asked",
    );

  command(
    "malformed",
    "list, replay or discard quarantined messages",
    ["sluice malformed", "sluice malformed --replay", "sluice malformed --discard msg_c2x1aWNl…"],
    (cli, _, flags: MalformedFlags) => malformed(cli, flags),
  )
    .option("--replay [message]", "replay this one, or all of them, to their queues")
    .addOption(new Option("--discard <message>", "discard this one").conflicts("replay"))
    .option("-n, --limit <number>", `at most this many, up to ${MAX_LISTED}`, wholeNumber(MAX_LISTED), 20);

  command(
    "tail",
    "print documents as they end, until Ctrl-C",
    ["sluice tail", "sluice tail --collection docs --top-k 1", "sluice tail --cursor eyJz… >> results.ndjson"],
    (cli, _, flags: TailFlags) => tail(cli, flags),
  )
    .option("-c, --collection <name>", "only this collection", collectionName)
    .option("--cursor <cursor>", "continue from this cursor")
    .addOption(
      new Option("--all", "begin with the first document that ever ended instead of the next one").conflicts("cursor"),
    )
    .option("--top-k <number>", "the top K scores per document", wholeNumber(MAX_LISTED))
    .option("--include <parts>", "text, metadata, or text,metadata", listOf(includes));

  addGroups(program, command);
  return program;
}
