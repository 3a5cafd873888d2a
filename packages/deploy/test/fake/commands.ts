import { parseArgs } from "node:util";
import {
  applyMigrations,
  CommandFailure,
  deleteWorker,
  deployWorker,
  idOf,
  readDeployed,
  type FakeAccount,
} from "./account.ts";
import { json, text, type Answer, type Command, type Values } from "./command.ts";
import { queueCommands } from "./queue-commands.ts";

/** The commands and options that Sluice uses, as wrangler 4.164 has them. */
const commands: readonly Command[] = [
  {
    words: "whoami",
    options: [],
    flags: ["json"],
    run: (account) => json({ loggedIn: true, authType: "OAuth Token", email: "a@b.c", accounts: account.accounts }),
  },
  {
    words: "d1 list",
    options: [],
    flags: ["json"],
    run: ({ databases }) =>
      json(Object.entries(databases).map(([name, { uuid }]) => ({ uuid, name, version: "production" }))),
  },
  {
    words: "d1 create",
    options: [],
    flags: [],
    run: ({ databases }, [name = ""]) => {
      if (databases[name] !== undefined) throw new CommandFailure("A database with that name already exists");
      databases[name] = { uuid: idOf(name), migrations: [] };
      return text(`✅ Successfully created DB '${name}' in region WEUR`);
    },
  },
  {
    words: "d1 delete",
    options: [],
    flags: ["skip-confirmation"],
    run: ({ databases }, [name = ""]) => {
      if (databases[name] === undefined) throw new CommandFailure(`Couldn't find a D1 DB named '${name}'`);
      delete databases[name];
      return text(`Deleted '${name}' successfully.`);
    },
  },
  {
    words: "d1 migrations apply",
    options: ["config"],
    flags: ["remote"],
    run: (account, [name = ""], { config, remote }) => {
      if (remote !== true) throw new CommandFailure("the local database was migrated");
      applyMigrations(account, name, String(config));
      return text("✅");
    },
  },
  ...queueCommands,
  {
    words: "secret list",
    options: ["name", "format"],
    flags: [],
    run: ({ workers }, _, { name }) => {
      const worker = workers[String(name)];
      if (worker === undefined)
        throw new CommandFailure(`Worker "${String(name)}" not found.\n\nIf this is a new Worker, run`);
      return json(Object.keys(worker.secrets).map((secret) => ({ name: secret, type: "secret_text" })));
    },
  },
  {
    words: "deploy",
    options: ["config", "secrets-file"],
    flags: ["dry-run"],
    run: (account, _, { config, "secrets-file": secrets, "dry-run": dryRun }) => {
      if (dryRun === true) return text(`Total Upload of ${readDeployed(String(config)).name}`);
      const targets = deployWorker(account, String(config), typeof secrets === "string" ? secrets : undefined);
      return { text: "Uploaded", targets };
    },
  },
  {
    words: "delete",
    options: ["name"],
    flags: ["force"],
    run: (account, _, { name }) => {
      deleteWorker(account, String(name));
      return text(`Successfully deleted ${String(name)}`);
    },
  },
];

/** Runs a command on the account. Throws a `CommandFailure`; the account may have changed before. */
export function runCommand(account: FakeAccount, args: readonly string[]): Answer {
  const { failAt, calls } = account;
  const fails = failAt?.call === calls.length ? failAt.when : null;
  calls.push([...args]);
  if (fails === "before") throw new CommandFailure("fetch failed");
  const answer = attempt(() => execute(account, args));
  // The answer is lost, whatever it was.
  if (fails === "after") throw new CommandFailure("fetch failed");
  if (answer instanceof CommandFailure) throw answer;
  return answer;
}

function attempt(run: () => Answer): Answer | CommandFailure {
  try {
    return run();
  } catch (error) {
    if (error instanceof CommandFailure) return error;
    throw error;
  }
}

function execute(account: FakeAccount, args: readonly string[]): Answer {
  const line = args.join(" ");
  const command = commands.find(({ words }) => line === words || line.startsWith(`${words} `));
  if (command === undefined) throw new CommandFailure(`Unknown command: wrangler ${line}`);
  if (!account.loggedIn) {
    if (command.words === "whoami") throw new CommandFailure('{"loggedIn":false}');
    throw new CommandFailure("In a non-interactive environment, it's necessary to set a CLOUDFLARE_API_TOKEN");
  }
  const { values, positionals } = parseArgs({
    args: args.slice(command.words.split(" ").length),
    allowPositionals: true,
    options: Object.fromEntries([
      ...command.options.map(
        (name) => [name, { type: "string" as const, ...(name === "config" && { short: "c" }) }] as const,
      ),
      ...command.flags.map((name) => [name, { type: "boolean" as const }] as const),
    ]),
  });
  return command.run(account, positionals, values as Values);
}
