/** What every command of this workspace prints by. */
export { print, printError } from "./print.ts";
export { describeStandIn } from "./scorer.ts";
export { whenReaderLeaves } from "./reader.ts";
export { fit, harmless, harmlessJson, oneLine, pad, width } from "./text.ts";
