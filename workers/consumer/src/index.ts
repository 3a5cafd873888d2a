import { runLogged } from "@sluice/pipeline/platform/run-logged.ts";
import { settleDelivery } from "@sluice/pipeline/message/delivery.ts";
import { contextOf, type ContextEnv } from "@sluice/pipeline/platform/context-of.ts";
import { withDatabaseClock } from "@sluice/pipeline/platform/database-clock.ts";
import { consumeDelivery } from "@sluice/pipeline/message/consume-delivery.ts";

/** The consumer: a delivery of Queue messages becomes rows in D1 and jobs at Workers AI. */
export default {
  async queue(batch, env) {
    const context = contextOf(env);
    const decisions = await runLogged("delivery_broke_off", context.log, async () =>
      consumeDelivery(await withDatabaseClock(context), batch.queue, batch.messages),
    );
    settleDelivery(batch.messages, decisions);
  },
} satisfies ExportedHandler<ContextEnv>;
