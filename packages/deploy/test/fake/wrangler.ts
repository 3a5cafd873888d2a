import { appendFileSync } from "node:fs";
import { CommandFailure, readAccountFile, writeAccountFile } from "./account.ts";
import { runCommand } from "./commands.ts";

/* Run instead of wrangler. The account is in the file FAKE_ACCOUNT. */

const path = process.env["FAKE_ACCOUNT"] ?? "";
const account = readAccountFile(path);
const report = (entry: unknown) => {
  appendFileSync(process.env["WRANGLER_OUTPUT_FILE_PATH"] ?? "", `${JSON.stringify(entry)}\n`);
};
report({ type: "wrangler-session", version: 1 });
try {
  const { text, targets } = runCommand(account, process.argv.slice(2));
  if (targets !== undefined) report({ type: "deploy", version: 1, targets });
  process.stdout.write(`${text}\n`);
} catch (error) {
  if (!(error instanceof CommandFailure)) throw error;
  report({ type: "command-failed", version: 1, code: error.code, message: error.message });
  process.stderr.write(`\u001B[31m✘ [ERROR]\u001B[0m ${error.message}\n`);
  process.exitCode = 1;
} finally {
  writeAccountFile(path, account);
}
