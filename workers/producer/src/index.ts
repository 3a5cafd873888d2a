import { createApp } from "./app.ts";
import { dependencies, type Env } from "./env.ts";

export { Sluice } from "./rpc.ts";

const app = createApp();

export default {
  async fetch(request, env, context) {
    const answer = Promise.resolve(app.fetch(request, dependencies(env)));
    // A caller that goes away half way cancels what is left: a push that broke off says so first.
    context.waitUntil(answer.then(undefined, () => undefined));
    return answer;
  },
} satisfies ExportedHandler<Env>;
