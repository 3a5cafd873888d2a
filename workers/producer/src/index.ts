import { RowReporter } from "@sluice/pipeline/platform/row-reporter.ts";
import { createApp } from "./app.ts";
import { contextOf, type Env } from "./env.ts";

export { Sluice } from "./rpc.ts";

const app = createApp();
const rows = new RowReporter("producer");

export default {
  async fetch(request, env, execution) {
    const context = contextOf(env);
    const answer = Promise.resolve(app.fetch(request, context));
    // When a caller disconnects, the runtime cancels its request. An interrupted push must be marked as such first.
    execution.waitUntil(answer.then(undefined, () => undefined).then(() => rows.report(context)));
    return answer;
  },
} satisfies ExportedHandler<Env>;
