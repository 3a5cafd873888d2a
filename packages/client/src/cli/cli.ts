import type { Readable } from "node:stream";
import type { OnRetry } from "../call.ts";
import { Sluice } from "../index.ts";
import { webIo, type Io } from "../io.ts";
import { isUnconnected, LastingFailure } from "../transport.ts";
import { wrongUrl } from "../url.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { Output } from "./output.ts";
import { duration } from "./text.ts";

/** The context of a command. */
export interface Cli {
  readonly out: Output;
  readonly stdin: Readable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly sleep: Io["sleep"];
  readonly randomBytes: (count: number) => Uint8Array;
}

/** Ends the command with an exit code. The message, if any, goes to stderr. */
export class CommandError extends Error {
  readonly code: ExitCode;

  constructor(code: ExitCode, message: string) {
    super(message);
    this.code = code;
  }
}

export const DEFAULT_URL = "http://127.0.0.1:8787";

/** Shortest wait that is reported, in milliseconds: shorter ones go unnoticed. */
const LONG_WAIT_MS = 2_000;

/**
 * Creates the client for SLUICE_URL and SLUICE_API_KEY. It reports long waits through `onLongWait` if the command
 * displays them itself.
 */
export function clientOf(
  { env, out, sleep = webIo.sleep }: Pick<Cli, "env" | "out"> & Partial<Pick<Cli, "sleep">>,
  {
    retries,
    onLongWait = ({ title }, wait) => out.note(`${title}: retrying in ${duration(wait)}`),
  }: { readonly retries?: number; readonly onLongWait?: OnRetry } = {},
): Sluice {
  const key = env["SLUICE_API_KEY"] ?? "";
  if (key === "") throw new CommandError(EXIT.usage, "SLUICE_API_KEY is not set. It must hold the API key.");
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new CommandError(EXIT.usage, "SLUICE_API_KEY must be printable ASCII without spaces.");
  }
  const url = env["SLUICE_URL"] || DEFAULT_URL;
  const wrong = wrongUrl("SLUICE_URL", url);
  if (wrong !== null) throw new CommandError(EXIT.usage, wrong);
  // A wrong address should fail fast. All retries apply only after a connection has broken.
  let reached = false;
  return new Sluice(
    {
      url,
      key,
      retries,
      onRetry(error, wait) {
        if (wait >= LONG_WAIT_MS) onLongWait(error, wait);
      },
    },
    {
      sleep,
      async fetch(input, init) {
        try {
          const response = await webIo.fetch(input, init);
          reached = true;
          return response;
        } catch (error) {
          // If a connection broke, a server was there and may come back.
          if (!isUnconnected(error)) reached = true;
          throw reached ? error : new LastingFailure("never reached", { cause: error });
        }
      },
    },
  );
}
