import { openDatabase, type Database } from "@sluice/db";
import type { Change } from "@sluice/simulation/src/checks/changes.ts";
import { simulatedD1 } from "@sluice/simulation/src/d1/simulated-d1.ts";
import { Sqlite, type Execution } from "@sluice/simulation/src/d1/sqlite.ts";
import type { Timeline } from "@sluice/simulation/src/world/timeline.ts";
import type { VirtualInvocation } from "./invocations.ts";

/** Milliseconds of network time, one way. */
const WAY_MS = 5;
/** Milliseconds of a call itself: D1's documentation says 1,000 queries a second at 1 ms each. */
const CALL_MS = 1;
/** Milliseconds for each row that a call changes. */
const ROW_MS = 0.02;

/** Tables with a row, or part of a row, for each document. */
const OF_DOCUMENTS: ReadonlySet<string> = new Set(["documents", "outcomes", "contexts"]);

/** D1 over SQLite on virtual time: it runs one call at a time, and nothing fails. */
export class VirtualD1 {
  readonly #timeline: Timeline;
  readonly #sqlite: Sqlite;
  /** Documents that each recorded document represents. */
  readonly #scale: number;
  readonly #committed: (changes: readonly Change[]) => void;
  #freeAt = 0;

  constructor(
    timeline: Timeline,
    options: {
      readonly scale: number;
      readonly committed: (changes: readonly Change[]) => void;
    },
  ) {
    this.#timeline = timeline;
    this.#scale = options.scale;
    this.#committed = options.committed;
    this.#sqlite = new Sqlite(undefined, options.scale === 1 ? [] : weighsAs(options.scale));
    this.#sqlite.now = () => timeline.now;
  }

  openFor(by: VirtualInvocation): Database {
    let rows = 0;
    const d1 = simulatedD1(
      this.#sqlite,
      (_, work, statements) => {
        by.countStatements(statements.length);
        return new Promise((resolve, reject) => {
          const starts = Math.max(this.#timeline.now + WAY_MS, this.#freeAt);
          // Locked until the work is done, because its duration is unknown before.
          this.#freeAt = starts + CALL_MS;
          this.#timeline.at(starts, () => {
            try {
              rows = 0;
              const value = work();
              const takes = CALL_MS + rows * ROW_MS;
              this.#freeAt = Math.max(this.#freeAt, this.#timeline.now + takes);
              by.hold(textBytes(statements, value) * this.#scale);
              this.#later(takes + WAY_MS, () => resolve(value));
            } catch (error) {
              this.#later(WAY_MS, () => reject(error instanceof Error ? error : new Error(String(error))));
            }
          });
        });
      },
      () => undefined,
      (changes) => {
        for (const [table] of changes) rows += OF_DOCUMENTS.has(table) ? this.#scale : 1;
        this.#committed(changes);
      },
    );
    return openDatabase(d1, { tries: 1, bounded: (call) => call(), rest: async () => undefined });
  }

  #later(delay: number, go: () => void): void {
    this.#timeline.after(delay, () => {
      this.#timeline.wake();
      go();
    });
  }
}

/** Gives documents and jobs the weight of all the documents they represent. */
function weighsAs(scale: number): readonly string[] {
  const weighs = (table: string, key: string, event: string, column: string) => `
    CREATE TRIGGER weigh_${table}_${column} AFTER ${event} ON ${table} BEGIN
      UPDATE ${table} SET ${column} = ${column} * ${scale} WHERE (${key}) = (${key.replace(/\w+/g, "NEW.$&")});
    END`;
  return [
    weighs("documents", "collection, document_id, submission_id", "INSERT", "payload_bytes"),
    weighs("jobs", "id", "INSERT", "payload_bytes"),
    // Recomputed when an attempt starts, from documents that have their own count.
    weighs("jobs", "id", "UPDATE OF context_count", "context_count"),
  ];
}

const readsTexts = new Map<string, boolean>();

/** Bytes of the documents' texts in the results of statements. */
function textBytes(statements: readonly { readonly sql: string }[], executions: readonly Execution[]): number {
  let bytes = 0;
  for (const [index, { sql }] of statements.entries()) {
    let reads = readsTexts.get(sql);
    if (reads === undefined) {
      reads = /^\s*(?:SELECT|WITH)\b/i.test(sql) && /\bcontexts c\b|\b(?:FROM|JOIN) contexts\b/i.test(sql);
      readsTexts.set(sql, reads);
    }
    if (!reads) continue;
    for (const row of executions[index]?.rows ?? []) {
      for (const value of Object.values(row as object)) if (typeof value === "string") bytes += value.length;
    }
  }
  return bytes;
}
