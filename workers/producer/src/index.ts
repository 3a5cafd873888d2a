import { createApp } from "./app.ts";
import { contextOf, type Env } from "./env.ts";

export { Sluice } from "./rpc.ts";

const app = createApp();

export default {
  async fetch(request, env, execution) {
    const answer = Promise.resolve(app.fetch(request, contextOf(env)));
    // When a caller disconnects, the runtime cancels its request. An interrupted push must be marked as such first.
    execution.waitUntil(answer.then(undefined, () => undefined));
    return answer;
  },
} satisfies ExportedHandler<Env>;
