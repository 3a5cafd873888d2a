import { createServer } from "node:net";

export const HOST = "127.0.0.1";

/** Whether somebody listens on the port already, or this user may not. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ port, host: HOST, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
