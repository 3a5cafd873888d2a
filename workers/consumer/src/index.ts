import { consumeDelivery } from "@sluice/pipeline/message/consume-delivery.ts";
import { settleDelivery } from "@sluice/pipeline/message/delivery.ts";
import { contextOf, type ContextEnv } from "@sluice/pipeline/platform/context-of.ts";
import { withDatabaseClock } from "@sluice/pipeline/platform/database-clock.ts";
import { RowReporter } from "@sluice/pipeline/platform/row-reporter.ts";
import { runLogged } from "@sluice/pipeline/platform/run-logged.ts";

const rows = new RowReporter("consumer");

/** The consumer: stores a delivery of Queue messages in D1 and dispatches its jobs to Workers AI. */
export default {
  async queue(batch, env) {
    const context = contextOf(env);
    const decisions = await runLogged("delivery_broke_off", context.log, async () =>
      consumeDelivery(await withDatabaseClock(context), batch.queue, batch.messages),
    );
    settleDelivery(batch.messages, decisions);
    await rows.report(context);
  },
} satisfies ExportedHandler<ContextEnv>;
