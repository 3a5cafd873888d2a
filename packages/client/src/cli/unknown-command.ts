import type { AddHelpTextContext } from "commander";
import { oneLine } from "./text.ts";

/** Refuses a command that does not exist before its help is printed: `--help` is read before the name is checked. */
export function refuseUnknown({ command }: AddHelpTextContext): string {
  const [name] = command.args;
  if (name !== undefined && !name.startsWith("-")) {
    command.error(`error: unknown command '${oneLine(name)}'`, { code: "commander.unknownCommand" });
  }
  return "";
}
