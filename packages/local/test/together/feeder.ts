import type { Queue } from "@cloudflare/workers-types";

/** Puts a message into a queue: `POST /QUEUE` with the body. Tests need it to send malformed messages. */
export default {
  async fetch(request: Request, env: Record<string, Queue<string>>): Promise<Response> {
    const queue = env[new URL(request.url).pathname.slice(1)];
    if (queue === undefined) return new Response("no such queue", { status: 404 });
    await queue.send(await request.text(), { contentType: "text" });
    return new Response("sent");
  },
};
