import type { Document } from "@sluice/client/types";
import { expect } from "vitest";
import * as z from "zod";
import type { KillAt } from "../kill-matrix/director.ts";
import type { Machine } from "../kill-matrix/machine.ts";
import { RoomSoak } from "./room-soak.ts";
import { LIMIT_BYTES, RETAIN_HISTORY_MS, RETAIN_TEXTS_MS } from "./soak-stack.ts";

/** Longer than any message lives, so that retention deletes all but the newest versions. */
const LONG_MS = 9 * 24 * 3_600_000;
const MAX_ROUNDS = 1_000;

/**
 * Pushes a multiple (`times`) of what fits into a small database while retention runs. Every accepted document must end and the
 * database stay below its limit; then its texts, its history and all that is not a newest version must go in time.
 * `kill` may return a step at which the runtime is killed in the next round.
 */
export async function playSoak(
  machine: Machine,
  { seed, times }: { readonly seed: number; readonly times: number },
  kill: (round: number) => KillAt | null = () => null,
): Promise<RoomSoak> {
  const soak = new RoomSoak(machine, seed);
  for (let round = 0; soak.acceptedBytes < times * LIMIT_BYTES; round += 1) {
    expect(round, "rounds").toBeLessThan(MAX_ROUNDS);
    const at = kill(round);
    if (at === null) await soak.round();
    else await soak.killIn(at);
  }
  await soak.finish();
  await soak.check();
  expect(machine.director.largestDatabaseBytes, "the largest size").toBeLessThan(LIMIT_BYTES);
  expect([soak.refused, soak.acceptedAfterRefusal, soak.deletions].every((count) => count > 0)).toBe(true);
  await checkAges(machine, soak);
  return soak;
}

/** Checks what is left of documents, one of which failed, as time passes after a soak. */
async function checkAges(machine: Machine, soak: RoomSoak): Promise<void> {
  await machine.tickUntil("the database has room", async () => {
    const { database } = await machine.read<{ database: { level: string } | null }>("/v1/stats");
    return database === null;
  });
  const late = await soak.pushFailing();
  const names = late.map(({ name }) => name).toSorted();
  const [failed] = late.slice(-1);
  if (failed === undefined) throw new Error("no document fails");
  const path = `/v1/collections/${failed.collection}/documents/${failed.id}`;
  const textsOf = async () => soak.textsOf(late, false);
  expect(await textsOf()).toEqual(names);

  await passUntil(machine, RETAIN_TEXTS_MS, "texts expire", async () => (await textsOf()).length < names.length);
  expect(await textsOf()).toEqual([failed.name]);
  expect(await machine.read<Document>(path)).toMatchObject({ status: "failed", query: failed.query });
  const [first] = late;
  const expired = await machine.read<Document>(
    `/v1/collections/${failed.collection}/documents/${first?.id}?include=text`,
  );
  expect(expired.scores).toHaveLength(3);
  for (const score of expired.scores) expect(score).toMatchObject({ text: null, text_expired_at: expect.any(String) });

  await passUntil(machine, RETAIN_HISTORY_MS, "history ends", async () => (await machine.call(path)).status === 404);
  expect(await textsOf()).toEqual([]);

  // A submission that lost a message stays, because the message may still arrive.
  const left = async () =>
    machine.sql(
      `SELECT (SELECT count(*) FROM contexts) AS contexts, (SELECT count(*) FROM parts) AS parts,
         (SELECT count(*) FROM jobs) AS jobs, (SELECT count(*) FROM staged_parts) AS staged,
         (SELECT count(*) FROM documents) - (SELECT count(*) FROM best) AS hidden,
         (SELECT count(*) FROM outcomes) - (SELECT count(*) FROM best) AS unseen,
         (SELECT count(*) FROM submissions s WHERE lost = 0 AND NOT EXISTS (
           SELECT 1 FROM best b WHERE b.submission_id = s.id)) AS submissions`,
      z.record(z.string(), z.number()),
    );
  const nothing = { contexts: 0, parts: 0, jobs: 0, staged: 0, hidden: 0, unseen: 0, submissions: 0 };
  await machine.director.passTime(LONG_MS);
  const isNothingLeft = async () => JSON.stringify(await left()) === JSON.stringify([nothing]);
  await machine.tickUntil("nothing else is left", isNothingLeft).catch(async (error: unknown) => {
    expect(await left(), String(error)).toEqual([nothing]);
  });
  await soak.check();
}

async function passUntil(machine: Machine, age: number, what: string, isSo: () => Promise<boolean>): Promise<void> {
  expect(await isSo(), what).toBe(false);
  await machine.director.passTime(age);
  await machine.tickUntil(what, isSo);
}
