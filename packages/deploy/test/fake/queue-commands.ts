import { apiError, CommandFailure, deleteQueue, idOf, queueOf, setRetention } from "./account.ts";
import { json, text, type Command } from "./command.ts";

const RETENTION = "message-retention-period-secs";

/** The commands about queues, their consumers and event subscriptions. */
export const queueCommands: readonly Command[] = [
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
];
