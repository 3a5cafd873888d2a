import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { err, ok } from "@sluice/core";
import type { Io } from "../src/io.ts";
import type { Wrangler } from "../src/wrangler.ts";
import { CommandFailure, emptyAccount, type FakeAccount } from "./fake/account.ts";
import { runCommand } from "./fake/commands.ts";

/** A fake account with the surroundings of a command. */
export class Harness {
  readonly account: FakeAccount;
  readonly folder = mkdtempSync(join(tmpdir(), "sluice-deploy-test-"));
  readonly printed: string[] = [];
  readonly questions: string[] = [];
  answer: string | null = null;
  accountId: string | undefined = undefined;
  /** Each key differs, so that a second one would be noticed. */
  #nextByte = 7;

  constructor(changes: Partial<FakeAccount> = {}) {
    this.account = emptyAccount(changes);
  }

  /** The fake in this process: the same as the script, but without a process for each of its thousands of calls. */
  readonly wrangler: Wrangler = async (args) => {
    try {
      const { text, targets = [] } = runCommand(this.account, args);
      return ok({ text, targets });
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      return err({ args, code: error.code ?? null, text: error.message });
    }
  };

  get io(): Io {
    return {
      wrangler: this.wrangler,
      print: (text) => this.printed.push(text),
      ask: async (question) => {
        this.questions.push(question);
        return this.answer;
      },
      random: () => new Uint8Array(24).fill(this.#nextByte++),
      accountId: this.accountId,
      folder: this.folder,
    };
  }

  get output(): string {
    return this.printed.join("\n");
  }

  /** The account without its log of calls. */
  get state(): object {
    const { calls: _, failAt: _failAt, ...state } = this.account;
    return structuredClone(state);
  }

  /** Commands that change the account. */
  get changes(): string[] {
    const reads = /^(whoami|d1 list|queues consumer list|queues subscription list|secret list|deploy --dry-run)\b/;
    return this.account.calls.map((args) => args.join(" ")).filter((line) => !reads.test(line));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
