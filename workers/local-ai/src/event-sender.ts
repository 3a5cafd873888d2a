import { DurableObject } from "cloudflare:workers";
import { findEnd } from "./batch-end.ts";
import { planEvents, type BatchEvent, type PlannedEvent } from "./batch-events.ts";
import { createRunContext } from "./create-run-context.ts";
import type { Env } from "./env.ts";
import type { EventType } from "./plan.ts";

/** A batch whose end is not reported yet. */
type WatchedRow = Record<"request_id", string>;
type OutboxRow = { id: number; body: string };

/** `sendBatch` accepts 100 messages. */
const MAX_SEND_MESSAGES = 100;

/**
 * Sends the events of Workers AI. A Worker runs nothing between two requests, so this uses alarms: an alarm is stored,
 * fires on time without a request, runs alone, and survives a restart of the local runtime together with the watched
 * batches. An event that is being sent when the runtime dies is sent again.
 */
export class EventSender extends DurableObject<Env> {
  readonly #sql: SqlStorage;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#sql = state.storage.sql;
    this.#sql.exec("CREATE TABLE IF NOT EXISTS watched (request_id TEXT PRIMARY KEY, look_at INTEGER NOT NULL)");
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS outbox (id INTEGER PRIMARY KEY, send_at INTEGER NOT NULL, behind_next INTEGER NOT NULL, body TEXT NOT NULL)",
    );
  }

  /** Reports a batch as queued, and its end once it ends. */
  async watch(requestId: string): Promise<void> {
    const context = createRunContext(this.env);
    await this.#report(requestId, "queued");
    this.#sql.exec("INSERT OR IGNORE INTO watched VALUES (?, ?)", requestId, context.now());
    await this.#setAlarm();
  }

  override async alarm(): Promise<void> {
    const context = createRunContext(this.env);
    const due = this.#sql
      .exec<WatchedRow>("SELECT request_id FROM watched WHERE look_at <= ?", context.now())
      .toArray();
    for (const { request_id: requestId } of due) {
      const end = await findEnd(requestId, context);
      if (end.kind === "running") {
        this.#sql.exec("UPDATE watched SET look_at = ? WHERE request_id = ?", end.lookAt, requestId);
        continue;
      }
      if (end.kind === "ended") await this.#report(requestId, end.type);
      this.#sql.exec("DELETE FROM watched WHERE request_id = ?", requestId);
    }
    await this.#send(context.now());
    await this.#setAlarm();
  }

  async #report(requestId: string, type: EventType): Promise<void> {
    const { store, ledger, now } = createRunContext(this.env);
    const batch = await store.batch(requestId);
    if (batch === null) return;
    for (const event of planEvents(await ledger.plan(store), requestId, batch, type, now())) this.#keep(event);
  }

  #keep({ sendAt, behindNext, body }: PlannedEvent): void {
    this.#sql.exec(
      "INSERT INTO outbox (send_at, behind_next, body) VALUES (?, ?, ?)",
      sendAt,
      Number(behindNext),
      JSON.stringify(body),
    );
  }

  /** Sends the due events, followed by those that wait for another event to be sent first. */
  async #send(now: number): Promise<void> {
    const due = this.#sql.exec<OutboxRow>("SELECT id, body FROM outbox WHERE send_at <= ? ORDER BY id", now).toArray();
    await this.#sendAll(due);
    if (due.length === 0) return;
    await this.#sendAll(
      this.#sql.exec<OutboxRow>("SELECT id, body FROM outbox WHERE behind_next ORDER BY id").toArray(),
    );
  }

  async #sendAll(rows: readonly OutboxRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MAX_SEND_MESSAGES) {
      const some = rows.slice(from, from + MAX_SEND_MESSAGES);
      await this.env.EVENTS.sendBatch(some.map(({ body }) => ({ body: JSON.parse(body) as BatchEvent })));
      for (const { id } of some) this.#sql.exec("DELETE FROM outbox WHERE id = ?", id);
    }
  }

  async #setAlarm(): Promise<void> {
    const [next] = this.#sql
      .exec<{ at: number | null }>(
        "SELECT min(at) AS at FROM (SELECT min(look_at) AS at FROM watched UNION ALL SELECT min(send_at) FROM outbox)",
      )
      .toArray();
    if (next?.at != null) await this.ctx.storage.setAlarm(next.at);
  }
}
