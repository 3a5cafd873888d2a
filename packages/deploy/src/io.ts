import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { print } from "@sluice/client/terminal";
import { DEPLOY_FOLDER } from "./files.ts";
import { wranglerCommand, type Wrangler } from "./wrangler.ts";

/** What a command needs of its surroundings. Tests replace it. */
export interface Io {
  readonly wrangler: Wrangler;
  readonly print: (text: string) => void;
  /** Asks the person; `null` if there is no terminal. */
  readonly ask: (question: string) => Promise<string | null>;
  /** 24 random bytes. */
  readonly random: () => Uint8Array;
  /** The account chosen with CLOUDFLARE_ACCOUNT_ID. */
  readonly accountId: string | undefined;
  /** The folder for generated files. */
  readonly folder: string;
}

export function terminalIo(): Io {
  return {
    wrangler: wranglerCommand(),
    print,
    ask: async (question) => {
      if (!process.stdin.isTTY) return null;
      const asking = createInterface({ input: process.stdin, output: process.stderr });
      const answer = await asking.question(question);
      asking.close();
      return answer.trim();
    },
    random: () => randomBytes(24),
    accountId: process.env["CLOUDFLARE_ACCOUNT_ID"] || undefined,
    folder: DEPLOY_FOLDER,
  };
}
