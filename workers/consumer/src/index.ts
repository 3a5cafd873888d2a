import { CALL_TIMEOUT } from "@sluice/core";
import { openDatabase } from "@sluice/db";
import { asBatchBinding, boundedBy } from "@sluice/inference";
import { consumeDelivery } from "./consume-delivery.ts";
import type { ConsumerEnv } from "./env.ts";

/** The consumer: a delivery of Queue messages becomes rows in D1 and jobs at Workers AI. */
export default {
  async queue(batch, env) {
    const decisions = await consumeDelivery(
      {
        db: openDatabase(env.DB),
        ai: asBatchBinding(env.AI),
        bounded: boundedBy(CALL_TIMEOUT),
        now: Date.now,
        random: Math.random,
        randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
        runInterval: Number(env.RUN_INTERVAL_SECONDS) * 1_000,
        log: (event) => console.log(JSON.stringify(event)),
      },
      batch.queue,
      batch.messages,
    );
    for (const message of batch.messages) {
      if (decisions.get(message.id)?.kind === "ack") message.ack();
      else message.retry();
    }
  },
} satisfies ExportedHandler<ConsumerEnv>;
