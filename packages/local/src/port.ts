import { createServer } from "node:net";

export const HOST = "127.0.0.1";

/** Returns why the port cannot be used, or `null`. */
export function portProblem(port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      const { code = error.message } = error;
      resolve(
        code === "EADDRINUSE"
          ? portInUse(port)
          : `Port ${port} cannot be used (${code}): set SLUICE_PORT to another one.`,
      );
    });
    probe.listen({ port, host: HOST, exclusive: true }, () => probe.close(() => resolve(null)));
  });
}

export function portInUse(port: number): string {
  return `Port ${port} is in use: stop the process that uses it, or set SLUICE_PORT to another one (0 picks a free one).`;
}
