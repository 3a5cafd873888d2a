/** The exit codes of the command. */
export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  failed: 3,
  refused: 4,
  overBudget: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** For `--help`. */
export const EXIT_HELP = `Exit codes:
  0    success, or the reader of the output closed it (| head)
  1    error: no answer, key not accepted, not found
  2    usage error
  3    documents failed or were canceled
  4    lines were refused (push writes them to FILE.rejected.ndjson)
  5    the estimate exceeds --max-usd; nothing was sent
  130  stopped with Ctrl-C`;
