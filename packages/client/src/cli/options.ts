import { Option, type Argument } from "commander";

export function choice(flags: string, description: string, all: readonly string[]): Option {
  return new Option(flags, description).choices(all);
}

/** An argument as help shows it. */
export function argumentTerm(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
}
