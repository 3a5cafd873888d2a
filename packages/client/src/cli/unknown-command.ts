import type { AddHelpTextContext } from "commander";
import { oneLine } from "./text.ts";

/** Refuses an unknown command before help is printed: commander handles `--help` before it checks the name. */
export function refuseUnknown({ command }: AddHelpTextContext): string {
  const [name] = command.args;
  if (name !== undefined && !name.startsWith("-")) {
    command.error(`error: unknown command '${oneLine(name)}'`, { code: "commander.unknownCommand" });
  }
  return "";
}
