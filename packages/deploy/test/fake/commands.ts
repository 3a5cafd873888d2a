import { parseArgs } from "node:util";
import {
  apiError,
  applyMigrations,
  CommandFailure,
  deleteQueue,
  deleteWorker,
  deployWorker,
  idOf,
  queueOf,
  readDeployed,
  setRetention,
  type FakeAccount,
} from "./account.ts";

/** What a command prints, and the targets of a deployment. */
export interface Answer {
  readonly text: string;
  readonly targets?: readonly string[];
}

type Values = Readonly<Record<string, string | boolean | undefined>>;
type Run = (account: FakeAccount, positionals: readonly string[], values: Values) => Answer;

interface Command {
  readonly words: string;
  /** Options with a value, then flags. wrangler refuses others. */
  readonly options: readonly string[];
  readonly flags: readonly string[];
  readonly run: Run;
}

const RETENTION = "message-retention-period-secs";
const json = (value: unknown): Answer => ({ text: JSON.stringify(value, null, 2) });
const text = (line: string): Answer => ({ text: line });

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
  {
    words: "queues create",
    options: [RETENTION],
    flags: [],
    run: (account, [name = ""], values) => {
      if (account.queues[name] !== undefined) throw apiError(`Queue name '${name}' is already taken`, 11_009);
      setRetention(account, name, Number(values[RETENTION]));
      return text(`🌀 Creating queue '${name}'\n✅ Created queue '${name}'`);
    },
  },
  {
    words: "queues update",
    options: [RETENTION],
    flags: [],
    run: (account, [name = ""], values) => {
      queueOf(account, name);
      setRetention(account, name, Number(values[RETENTION]));
      return text(`Updated queue ${name}.`);
    },
  },
  {
    words: "queues delete",
    options: [],
    flags: [],
    run: (account, [name = ""]) => {
      deleteQueue(account, name);
      return text(`Deleted queue ${name}.`);
    },
  },
  {
    words: "queues consumer list",
    options: [],
    flags: ["json"],
    run: (account, [name = ""]) => {
      const { consumer } = queueOf(account, name);
      return json(
        consumer === null ? [] : [{ consumer_id: idOf(consumer), type: "worker", script: consumer, settings: {} }],
      );
    },
  },
  {
    words: "queues consumer remove",
    options: [],
    flags: [],
    run: (account, [name = "", script = ""]) => {
      const queue = queueOf(account, name);
      if (queue.consumer !== script)
        throw new CommandFailure(`No worker consumer '${script}' exists for queue ${name}`);
      account.queues[name] = { ...queue, consumer: null, deadLetters: null };
      return text(`Removed consumer from queue ${name}.`);
    },
  },
  {
    words: "queues subscription list",
    options: ["per-page"],
    flags: ["json"],
    run: (account, [name = ""]) => {
      queueOf(account, name);
      const found = Object.entries(account.subscriptions).filter(([, { queue }]) => queue === name);
      return json(
        found.map(([title, { model, events, enabled }]) => ({
          id: idOf(title),
          name: title,
          enabled,
          source: { type: "workersAi.model", model_name: model },
          destination: { type: "queues.queue", queue_id: idOf(name) },
          events: events.map((event) => `cf.workersAi.model.${event}`),
        })),
      );
    },
  },
  {
    words: "queues subscription create",
    options: ["source", "model-name", "events", "name"],
    flags: [],
    run: (account, [queue = ""], values) => {
      queueOf(account, queue);
      const model = String(values["model-name"]);
      if (Object.values(account.subscriptions).some((one) => one.model === model)) {
        throw apiError("A subscription for this source exists", 15_003);
      }
      account.subscriptions[String(values["name"])] = {
        queue,
        model,
        events: String(values["events"]).split(","),
        enabled: true,
      };
      return text("✨ Successfully created event subscription");
    },
  },
  {
    words: "queues subscription update",
    options: ["id", "events"],
    flags: ["enabled"],
    run: (account, _, { id, events, enabled }) => {
      const found = Object.entries(account.subscriptions).find(([name]) => idOf(name) === id)?.[1];
      if (found === undefined) throw apiError("Subscription not found", 15_002);
      Object.assign(found, { events: String(events).split(","), enabled });
      return text("✨ Successfully updated event subscription");
    },
  },
  {
    words: "queues subscription delete",
    options: ["id"],
    flags: ["force"],
    run: (account, _, { id }) => {
      const name = Object.keys(account.subscriptions).find((one) => idOf(one) === id);
      if (name === undefined) throw apiError("Subscription not found", 15_002);
      delete account.subscriptions[name];
      return text("✨ Successfully deleted event subscription");
    },
  },
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
