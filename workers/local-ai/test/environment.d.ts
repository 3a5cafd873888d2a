declare namespace Cloudflare {
  interface GlobalProps {
    mainModule: typeof import("../src/index.ts");
  }
  interface Env {
    STATE: KVNamespace;
    EVENT_SENDER: DurableObjectNamespace<import("../src/event-sender.ts").EventSender>;
  }
}
