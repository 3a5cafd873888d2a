import { err, ok, type Result } from "@sluice/core";
import { foreignConsumers, type Account } from "./account.ts";
import type { DeployedWorker, Deployment } from "./deployment.ts";

/** The secret of the producer with the list of API keys. */
export const KEYS_SECRET = "SLUICE_API_KEYS";

/**
 * Seconds for which a queue keeps a message: four days, in which D1 may be down. The free plan allows one day, so it
 * refuses this setting.
 */
const RETENTION_SECONDS = 4 * 24 * 60 * 60;

/** What must be done after a step's command has succeeded. */
export type Follow = "read_database_id" | "read_url" | "none";

/** One command of a plan. */
export interface Step {
  readonly title: string;
  /** Arguments of wrangler. */
  readonly args: readonly string[];
  readonly follow: Follow;
  /** If set, a failure does not stop the run: what is lost without the step. */
  readonly without: string | null;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** Whether the producer gets its first API key. */
  readonly createsKey: boolean;
  /** Things that need no change, or that this run cannot change. */
  readonly notes: readonly string[];
}

/** Paths of the files that a run writes. */
export interface Paths {
  configuration(worker: DeployedWorker): string;
  readonly secrets: string;
}

/** Plans a deployment in an account. Fails if another Worker consumes one of the queues. */
export function planDeployment(deployment: Deployment, account: Account, paths: Paths): Result<Plan, string> {
  const foreign = foreignConsumers(deployment, account);
  if (foreign.length > 0) return err(describeForeign(foreign));
  const producer = deployment.workers.find(({ worker }) => worker === "producer")?.name ?? "";
  const createsKey = account.workers.get(producer)?.includes(KEYS_SECRET) !== true;
  const subscribe = planSubscription(deployment, account);
  const steps = [
    ...deployment.queues.map(({ name }) => keepQueue(name, account.queues.has(name))),
    ...(account.databaseId === null
      ? [
          step(
            `create the D1 database ${deployment.database}`,
            ["d1", "create", deployment.database],
            "read_database_id",
          ),
        ]
      : []),
    step(`apply the migrations that ${deployment.database} lacks`, [
      "d1",
      "migrations",
      "apply",
      deployment.database,
      "--remote",
      "-c",
      paths.configuration("producer"),
    ]),
    ...deployment.workers.map(({ worker, name }) => {
      const key = worker === "producer" && createsKey ? ["--secrets-file", paths.secrets] : [];
      const title = `${account.workers.has(name) ? "update" : "create"} the Worker ${name}`;
      return step(
        key.length > 0 ? `${title} with a new API key` : title,
        ["deploy", "-c", paths.configuration(worker), ...key],
        worker === "producer" ? "read_url" : "none",
      );
    }),
    ...(subscribe.step === null ? [] : [subscribe.step]),
  ];
  const notes = [
    ...(account.databaseId === null ? [] : [`the D1 database ${deployment.database} exists: ${account.databaseId}`]),
    ...(createsKey ? [] : [`${producer} keeps its API keys`]),
    ...subscribe.notes,
  ];
  return ok({ steps, createsKey, notes });
}

/**
 * Plans the removal of a deployment, in the reverse order. Fails if another Worker consumes one of the queues, or if a
 * subscription could remain that nothing names once its queue is gone.
 */
export function planRemoval(deployment: Deployment, account: Account): Result<Plan, string> {
  const foreign = foreignConsumers(deployment, account);
  if (foreign.length > 0) return err(describeForeign(foreign));
  const events = deployment.subscription.queue;
  if (account.subscriptions === null) {
    return err(`The event subscriptions of ${events} could not be listed, and would remain. Run this again.`);
  }
  const steps = [
    ...account.subscriptions.map(({ id, name }) =>
      step(`delete the event subscription ${name}`, [
        "queues",
        "subscription",
        "delete",
        events,
        "--id",
        id,
        "--force",
      ]),
    ),
    ...deployment.workers.toReversed().flatMap(({ name }) => [
      // A Worker that still consumes a queue cannot be deleted.
      ...deployment.queues
        .filter((queue) => queue.consumer === name && account.queues.get(queue.name)?.includes(name) === true)
        .map((queue) => step(`detach ${name} from ${queue.name}`, ["queues", "consumer", "remove", queue.name, name])),
      ...(account.workers.has(name) ? [step(`delete the Worker ${name}`, ["delete", "--name", name, "--force"])] : []),
    ]),
    ...deployment.queues
      .toReversed()
      .filter(({ name }) => account.queues.has(name))
      .map(({ name }) => step(`delete the queue ${name} and its messages`, ["queues", "delete", name])),
    ...(account.databaseId === null
      ? []
      : [
          step(`delete the D1 database ${deployment.database} with all scores`, [
            "d1",
            "delete",
            deployment.database,
            "--skip-confirmation",
          ]),
        ]),
  ];
  return ok({ steps, createsKey: false, notes: [] });
}

function step(title: string, args: readonly string[], follow: Follow = "none"): Step {
  return { title, args, follow, without: null };
}

/** Also updates a queue that exists: it may keep messages for a shorter time, and the free plan refuses this one. */
function keepQueue(name: string, exists: boolean): Step {
  const retention = ["--message-retention-period-secs", String(RETENTION_SECONDS)];
  return exists
    ? step(`keep the queue ${name}, with four days of retention`, ["queues", "update", name, ...retention])
    : step(`create the queue ${name}`, ["queues", "create", name, ...retention]);
}

const EVENTS = ["batch.succeeded", "batch.failed"];

function planSubscription(
  { subscription: { queue, name, model } }: Deployment,
  { subscriptions }: Account,
): { step: Step | null; notes: string[] } {
  if (subscriptions === null) {
    return { step: null, notes: [`the event subscriptions of ${queue} could not be listed. ${WITHOUT_EVENTS}`] };
  }
  const found = subscriptions.find((one) => one.model === model);
  const events = EVENTS.join(",");
  if (found === undefined) {
    const source = ["--source", "workersAi.model", "--model-name", model];
    const args = ["queues", "subscription", "create", queue, ...source, "--events", events, "--name", name];
    return { step: optional(`subscribe to the batch events of ${model}`, args), notes: [] };
  }
  // The API lists events with the source's prefix: `cf.workersAi.model.batch.succeeded`.
  const isComplete = EVENTS.every((event) => found.events.some((one) => one === event || one.endsWith(`.${event}`)));
  if (found.enabled && isComplete) return { step: null, notes: [`${queue} receives the batch events of ${model}`] };
  const args = ["queues", "subscription", "update", queue, "--id", found.id, "--events", events, "--enabled"];
  return { step: optional(`repair the subscription ${found.name}`, args), notes: [] };
}

const WITHOUT_EVENTS = "Without events, scores arrive with the poller's next run, about a minute later.";

function optional(title: string, args: readonly string[]): Step {
  return { ...step(title, args), without: `${WITHOUT_EVENTS} An account has one subscription for each model.` };
}

function describeForeign(foreign: readonly string[]): string {
  return (
    `Other Workers consume these queues (code 11004 if deployed):\n${foreign.map((one) => `  ${one}`).join("\n")}\n` +
    "A queue has one consumer. Detach it with `wrangler queues consumer remove QUEUE WORKER`, or choose another --env."
  );
}
