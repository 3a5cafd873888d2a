import { runLogged, settleDelivery, stepIo, withDatabaseClock, type StepEnv } from "@sluice/dispatch";
import { consumeDelivery } from "./consume-delivery.ts";

/** The consumer: a delivery of Queue messages becomes rows in D1 and jobs at Workers AI. */
export default {
  async queue(batch, env) {
    const io = stepIo(env);
    const decisions = await runLogged("delivery_broke_off", io.log, async () =>
      consumeDelivery(await withDatabaseClock(io), batch.queue, batch.messages),
    );
    settleDelivery(batch.messages, decisions);
  },
} satisfies ExportedHandler<StepEnv>;
