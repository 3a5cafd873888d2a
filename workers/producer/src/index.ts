import { createApp } from "./app.ts";
import { dependencies, type Env } from "./env.ts";

export { Sluice } from "./rpc.ts";

const app = createApp();

export default {
  fetch: (request, env) => app.fetch(request, dependencies(env)),
} satisfies ExportedHandler<Env>;
