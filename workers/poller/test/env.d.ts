declare global {
  namespace Cloudflare {
    interface Env {
      readonly EVENTS: Queue;
    }
  }
}

export {};
