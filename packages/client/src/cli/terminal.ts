/** What every command of this workspace prints by. */
export { whenReaderLeaves } from "./reader.ts";
export { harmless, harmlessJson, oneLine } from "./text.ts";
