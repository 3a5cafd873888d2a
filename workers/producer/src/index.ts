import { createApp } from "./app.ts";
import { contextOf, type Env } from "./env.ts";

export { Sluice } from "./rpc.ts";

const app = createApp();

export default {
  async fetch(request, env, execution) {
    const answer = Promise.resolve(app.fetch(request, contextOf(env)));
    // A caller that goes away half way cancels what is left: a push that broke off says so first.
    execution.waitUntil(answer.then(undefined, () => undefined));
    return answer;
  },
} satisfies ExportedHandler<Env>;
