import { D1Timeout, openDatabase, type Database, type RetryPolicy } from "@sluice/db";
import { isolateMemory } from "@sluice/pipeline/platform/context-of.ts";
import type { Change } from "../checks/changes.ts";
import { Alerts } from "../checks/alerts.ts";
import { AskedPauses } from "../checks/asked-pauses.ts";
import { HeldMemory } from "../checks/held-memory.ts";
import { Mirror } from "../checks/mirror.ts";
import type { Content, VersionKey } from "../checks/state.ts";
import { simulatedD1 } from "../d1/simulated-d1.ts";
import type { Sqlite } from "../d1/sqlite.ts";
import { MAX_POLLER_STATEMENTS } from "../limits.ts";
import { Random } from "../random.ts";
import { DispatchAccounts, type Accounts } from "./accounts.ts";
import { readConfiguration, type Configuration } from "./configuration.ts";
import { d1Passage } from "./d1-faults.ts";
import { DatabaseRoom } from "./database-room.ts";
import { SeedRetention } from "./retention.ts";
import { DatabaseClock, MAX_WRONG } from "./database-clock.ts";
import { SimulatedEvents } from "./events.ts";
import { Faults } from "./faults.ts";
import { MAX_CLOCK_SKEW, type WorkerName } from "./caller.ts";
import { Invocation } from "./invocation.ts";
import { Ports, type Pace } from "./ports.ts";
import { carried } from "./queue.ts";
import { Timeline } from "./timeline.ts";
import { Trace } from "./trace.ts";
import type { PoisonMode } from "./poison.ts";
import type { Surroundings } from "./surroundings.ts";
import { SimulatedAi } from "./workers-ai.ts";

/** 2026-09-21, a few hours before midnight UTC, so that most runs include a pause until midnight. */
const START = Date.UTC(2026, 8, 21, 20);
export const MINUTE = 60_000;
/** The maximum duration of a Worker's run, except one that answers a request. */
const WALL_TIME = 15 * MINUTE;
const D1_CALL_LIMIT = 35_000;
/** D1's limit per invocation. Each statement of a batch counts, and each attempt. */
const MAX_STATEMENTS = 1_000;
/** The copies of one part that the Queue accepted and lost. */
interface SentPart {
  readonly documents: number;
  taken: number;
  lost: number;
}

export interface SeedOptions {
  readonly keepsTrace: boolean;
  /** Its kind; `null` if the seed determines it. */
  readonly kind: string | null;
  /** Whether other designs run the same seed too. */
  readonly isCompared?: boolean;
  /** The Workers' configuration. The default is their wrangler.jsonc. */
  readonly configuration?: Configuration;
}

/** Everything outside the Workers' code, determined by one seed. */
export class World implements Surroundings {
  readonly random: Random;
  /** A separate generator for later additions, so that they do not affect the rest of a seed. */
  readonly later: Random;
  readonly timeline = new Timeline(START);
  readonly faults: Faults;
  readonly trace: Trace;
  readonly ports: Ports;
  readonly d1Clock: DatabaseClock;
  readonly room: DatabaseRoom;
  readonly retention: SeedRetention;
  readonly mirror: Mirror;
  readonly asked = new AskedPauses(() => this.timeline.now);
  readonly alerts = new Alerts();
  readonly ai: SimulatedAi;
  readonly events: SimulatedEvents;
  readonly sqlite: Sqlite;
  readonly configuration: Configuration;
  readonly poisonMode: PoisonMode;
  readonly contents = new Map<VersionKey, Content>();
  readonly sentParts = new Map<string, SentPart>();
  /** The first failed check. */
  flaw: string | null = null;
  /** The time until which D1 fails every call. It starts at a call. */
  d1DownUntil = 0;
  /** The period in which D1 does not answer at all. */
  readonly outage: { readonly from: number; readonly to: number };
  /** Called when a submission's row appears, with the producer that wrote it. */
  onSubmission: (id: string, by: Invocation) => void = () => undefined;
  /** Called when a document is recorded. */
  onRecorded: (collection: string, id: string) => void = () => undefined;
  /** Called when a document of a submission fails. */
  onFailed: (submission: string) => void = () => undefined;
  /** Called when a retry of a submission is requested. */
  onRetry: (submission: string) => void = () => undefined;
  /** Called when a document of a submission gets its scores. */
  onScored: (submission: string, document: string) => void = () => undefined;
  /** Called when a batch is sent, before it arrives. */
  onSubmit: () => void = () => undefined;
  /** Called each time Workers AI accepts a document. */
  onPaid: (content: Content) => void = () => undefined;
  /** Sluice's accounts, unless another design is under test. */
  accounts: Accounts = new DispatchAccounts(this);
  /** The callbacks of Workers that have not ended. */
  readonly #ends = new Map<Invocation, (result: unknown) => void>();
  readonly #memory = new HeldMemory(isolateMemory);
  #invocations = 0;

  constructor(
    seed: number,
    sqlite: Sqlite,
    { keepsTrace, kind, isCompared = false, configuration = readConfiguration() }: SeedOptions,
  ) {
    this.random = new Random(seed);
    this.later = new Random(seed + 2 ** 30);
    this.sqlite = sqlite;
    this.configuration = configuration;
    this.faults = new Faults(seed, this.random, kind, isCompared);
    this.trace = new Trace(keepsTrace, () => this.timeline.now);
    const pace = this.faults.isLoad
      ? "brisk"
      : this.random.pick<Pace>(["brisk", "brisk", "mixed", "mixed", "crawling"]);
    this.poisonMode = this.random.pick<PoisonMode>(["submit", "submit", "batch", "item"]);
    this.ports = new Ports({
      timeline: this.timeline,
      random: this.random,
      faults: this.faults,
      trace: this.trace,
      pace,
    });
    this.timeline.onHang = () => {
      const hanging = [...this.#ends.keys()].filter((invocation) => invocation.isWorking);
      this.fail(`waiting for an event that never comes: ${hanging.map(({ name }) => name).join(", ") || "a body"}`);
    };
    this.ports.onDeath = (invocation) => this.#end(invocation, null);
    this.retention = new SeedRetention(configuration.poller.vars, this.later, {
      forgets: this.faults.forgets,
      mayBePressed: this.faults.kind === "full",
    });
    this.mirror = new Mirror({
      retention: this.retention,
      fail: (flaw) => this.fail(flaw),
      now: () => this.databaseNow(),
      worldNow: () => this.timeline.now,
      clockSetSince: (time) => this.d1Clock.setSince(time),
      contentOf: (key) => this.contents.get(key),
    });
    this.ai = new SimulatedAi(this);
    this.events = new SimulatedEvents(this);
    // All Workers share one isolate here, fresh for each seed.
    isolateMemory.clear();
    this.d1Clock = new DatabaseClock(seed, this);
    this.room = new DatabaseRoom(this);
    sqlite.now = () => this.databaseNow();
    const from = this.faults.strikes("d1_outage") ? START + this.random.int(1, 60) * MINUTE : Infinity;
    this.outage = { from, to: from + this.random.int(1, 30) * MINUTE };
    this.trace.add("seed", `${seed}: ${this.faults.kind}, ${pace}, poison at ${this.poisonMode}`);
  }

  fail(flaw: string): void {
    if (this.flaw !== null) return;
    this.flaw = flaw;
    this.trace.add("check", flaw);
  }

  /** Ends all faults. */
  endFaults(): void {
    this.trace.add("seed", "faults stop");
    this.faults.end();
    this.d1DownUntil = 0;
    this.room.end();
  }

  /** Starts a Worker. `ended` is called with its result, or `null` if it died or threw. */
  invoke<T>(worker: WorkerName, run: (by: Invocation) => Promise<T>, ended: (result: T | null) => void): Invocation {
    this.#invocations += 1;
    const skew = this.#skew();
    const invocation = new Invocation(this.timeline, worker, this.#invocations, skew);
    this.trace.add(invocation.name, "starts");
    this.#ends.set(invocation, ended as (result: unknown) => void);
    const mayFail = this.faults.isOn;
    this.timeline.after(WALL_TIME, () => {
      if (!invocation.isRunning || worker === "producer") return;
      if (!mayFail) this.fail(`${invocation.name} exceeded its wall time without a fault`);
      this.faults.count("worker_cut_off");
      this.ports.kill(invocation, "after its wall time");
    });
    this.timeline.wake();
    run(invocation).then(
      (result) => this.#end(invocation, result),
      (error: unknown) => {
        this.trace.add(invocation.name, "throws", error instanceof Error ? error.message : String(error));
        this.#end(invocation, null);
      },
    );
    return invocation;
  }

  /** Returns the time by D1's clock, the source of the times in its rows. */
  databaseNow(): number {
    return this.d1Clock.now();
  }

  #skew(): number {
    if (this.faults.strikes("clocks_hours_apart")) return this.random.int(-MAX_WRONG, MAX_WRONG);
    return this.faults.strikes("clocks_apart") ? this.random.int(-MAX_CLOCK_SKEW, MAX_CLOCK_SKEW) : 0;
  }

  /** Returns the D1 binding of a Worker. */
  d1(by: Invocation): D1Database {
    return simulatedD1(
      this.sqlite,
      (label, work, statements) => {
        // When D1 fails, a poller's retries exceed the small limit.
        const limit = this.faults.isLoad && by.worker === "poller" ? MAX_POLLER_STATEMENTS : MAX_STATEMENTS;
        if (by.countStatements(statements.length) > limit)
          this.fail(`${by.name} makes more than ${limit} statements; the last is ${label}`);
        if (
          label === "SELECT retry_parts" &&
          this.faults.hasFrozenRetries &&
          this.faults.isOn &&
          this.later.chance(0.5)
        )
          by.freeze(this.later.spread(90_000, 14 * MINUTE));
        return this.ports.call(by, label, this.room.refusal(statements) ?? d1Passage(this), work);
      },
      (refusal) => this.fail(`D1 refused a statement of ${by.name}: ${refusal}`),
      (changes) => this.#take(changes, by),
    );
  }

  database(by: Invocation): Database {
    const retryPolicy: RetryPolicy = {
      tries: 4,
      bounded: (call) => by.bounded(call(), D1_CALL_LIMIT, () => new D1Timeout("D1 gave no answer in time")),
      now: by.now,
      rest: (tried) => by.sleep(50 * 4 ** tried * (0.5 + this.random.next())),
    };
    return openDatabase(this.d1(by), retryPolicy, this.room.producerSize);
  }

  #take(changes: readonly Change[], by: Invocation): void {
    const inserted = changes.filter(([, event]) => event === "insert");
    for (const [table, , id] of inserted) {
      if (table !== "submissions") continue;
      if (this.room.isRecordedFull) this.fail(`${by.name} opened ${String(id)} while the database is full`);
      this.onSubmission(String(id), by);
    }
    this.mirror.apply(changes, by);
    for (const change of changes) {
      if (change[0] === "pauses" && change[1] !== "delete") by.raised.set(String(change[2]), this.timeline.now);
      this.#report(change[0] === "pauses" ? this.asked.flawIn(change, this.mirror) : null);
      this.#report(change[0] === "alerts" ? this.alerts.take(change, by) : null);
    }
    for (const [table, , first, second, third, fourth] of inserted) {
      if (table === "documents") this.onRecorded(String(second), String(first));
      if (table === "retries") this.onRetry(String(first));
      if (table === "outcomes" && fourth === "failed") this.onFailed(String(third));
      if (table === "outcomes" && fourth === "succeeded") this.onScored(String(third), String(first));
    }
  }

  /** Takes a line that a Worker logs. */
  onLog(text: string, by: Invocation): void {
    this.trace.add(by.name, `logs ${(JSON.parse(text) as { event: string }).event}`);
    this.#report(this.alerts.log(text, by));
  }

  onSent(body: unknown, isLost: boolean): void {
    const part = carried(body);
    if (part === null) return;
    const key = `${part.submission} ${part.part}`;
    const sent = this.sentParts.get(key) ?? { documents: part.documents, taken: 0, lost: 0 };
    this.sentParts.set(key, sent);
    if (isLost) sent.lost += 1;
    else sent.taken += 1;
  }

  #end(invocation: Invocation, result: unknown): void {
    const ended = this.#ends.get(invocation);
    if (ended === undefined) return;
    this.#ends.delete(invocation);
    invocation.finish();
    this.#report(this.#memory.flawAtEnd(invocation, [...this.#ends.keys()]));
    this.#report(this.alerts.flawAtEnd(invocation));
    ended(result);
  }

  #report(flaw: string | null): void {
    if (flaw !== null) this.fail(flaw);
  }
}
