import { PNPM } from "@sluice/local/command";

/** A wrangler command that failed. */
export interface Failure {
  readonly args: readonly string[];
  /** The code of Cloudflare's API, if there is one. */
  readonly code: number | null;
  /** What wrangler printed. */
  readonly text: string;
}

interface Known {
  readonly codes: readonly number[];
  /** Recognizes a failure without a code: wrangler replaces some by its own words. */
  readonly words: RegExp | null;
  /** The cause and the fix. */
  readonly explanation: string;
}

export const FREE_PLAN =
  "This account is on the Workers Free plan, and Sluice needs Workers Paid: the free plan allows 50 D1 queries and 10 ms " +
  "of CPU per invocation, and its queues keep messages for a day. Upgrade at " +
  "https://dash.cloudflare.com/?to=/:account/workers/plans, then run this again.";

/** From Cloudflare's documentation, wrangler's source and reports of others. The first that matches applies. */
const KNOWN: readonly Known[] = [
  {
    codes: [100129, 10015, 100328],
    words: /\bfree (plan|tier)\b|not_entitled|message_retention_period|retention period/i,
    explanation: FREE_PLAN,
  },
  {
    codes: [10000, 9106, 9109],
    words: /not authenticated|not logged in|in a non-interactive environment|"loggedIn": ?false/i,
    explanation:
      `wrangler is not logged in, or its token lacks a permission. Run ${PNPM} exec wrangler login, or set ` +
      "CLOUDFLARE_API_TOKEN to a token that may edit Workers Scripts, Queues and D1.",
  },
  {
    codes: [],
    words: /more than one account/i,
    explanation:
      "The login has several accounts. Set CLOUDFLARE_ACCOUNT_ID to one of the ids that wrangler whoami lists.",
  },
  {
    codes: [11002],
    words: null,
    explanation:
      "Queues are not enabled. Open https://dash.cloudflare.com/?to=/:account/workers/queues once, then run this again.",
  },
  {
    codes: [11004],
    words: null,
    explanation:
      "Another Worker consumes one of the queues, and a queue has one consumer. The new code is live already. Detach the " +
      "other with `wrangler queues consumer remove QUEUE WORKER`, then run this again.",
  },
  {
    codes: [11001],
    words: null,
    explanation:
      "The Worker's code has no handler for a queue that it consumes. Deploy this version of the repository unchanged, or " +
      "detach the Worker with `wrangler queues consumer remove QUEUE WORKER`.",
  },
  {
    codes: [7502, 11009],
    words: /already exists|already taken/i,
    explanation: "It was created since this run looked at the account. Run this again: it uses what is there.",
  },
  {
    codes: [7406],
    words: /maximum number of D1 databases/i,
    explanation:
      "The account has no room for another D1 database. Delete one that you no longer need, or ask for more.",
  },
  {
    codes: [10063],
    words: /workers\.dev subdomain/i,
    explanation:
      "The account has no workers.dev subdomain yet. Choose one at " +
      "https://dash.cloudflare.com/?to=/:account/workers/onboarding, then run this again.",
  },
  {
    codes: [],
    words: /Queue "[^"]*" does not exist/,
    explanation:
      "A queue was deleted since this run looked at the account. Run this again: it creates what is missing.",
  },
  {
    codes: [10021],
    words: null,
    explanation:
      "Cloudflare refused the Worker's code or a binding; its words are above. If it names the database, the database was " +
      "deleted: run this again.",
  },
  {
    codes: [7500, 7501],
    words: /SQLITE_ERROR|Migration .* failed/i,
    explanation:
      "D1 refused a migration and rolled it back; earlier ones are applied, and no Worker has changed. If the words above " +
      "name a table or column that exists, someone changed the database by hand.",
  },
  {
    codes: [971, 10429],
    words: /rate limit|too many requests/i,
    explanation: "Cloudflare's API limits requests to 1,200 in five minutes. Wait for five minutes and run this again.",
  },
  {
    codes: [10001, 10013],
    words:
      /fetch failed|ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|internal error|-> 50[0-4]\b|\b50[0-4] (bad|internal|service|gateway)/i,
    explanation: "Cloudflare's API could not be reached or failed. The command may have taken effect. Run this again.",
  },
];

/** The cause of a failure and the fix; `null` if it is unknown. */
export function explain({ code, text }: Failure): string | null {
  const byCode = KNOWN.find(({ codes }) => code !== null && codes.includes(code));
  const known = byCode ?? KNOWN.find(({ words }) => words?.test(text) === true);
  return known?.explanation ?? null;
}

/** Describes a failure for the person who runs the command: what wrangler said, what it means, what to do. */
export function describeFailure(failure: Failure): string {
  const explanation = explain(failure);
  const text = failure.text.trim();
  return [
    text === "" ? "wrangler printed nothing." : text,
    explanation ??
      "This failure is not one that Sluice knows. What is done stays done: fix the cause and run this again.",
  ].join("\n\n");
}
