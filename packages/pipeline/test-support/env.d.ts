import type { D1Migration } from "@cloudflare/vitest-pool-workers";

declare global {
  namespace Cloudflare {
    interface Env {
      readonly DB: D1Database;
      readonly EVENTS: Queue;
      readonly MIGRATIONS: D1Migration[];
    }
  }
}
