/** Text functions shared by every command of this workspace. */
export { print, printError } from "./print.ts";
export { describeStandIn } from "./scorer.ts";
export { whenReaderLeaves } from "./reader.ts";
export { errorWords } from "./report-error.ts";
export { shellCommand, shellWord } from "./shell.ts";
export { bytes, count, dollars, duration, fit, harmless, harmlessJson, oneLine, pad, plural, width } from "./text.ts";
export { holdWords, PUSH_LOST_AGAIN, waitingBrief } from "./words.ts";
