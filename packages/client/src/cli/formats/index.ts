export { explain } from "./explain.ts";
export { formatNames, formats, type FormatName } from "./formats.ts";
export {
  describePlace,
  placeKey,
  type Entry,
  type FormatOptions,
  type Header,
  type Line,
  type Place,
  type Refusal,
} from "./format.ts";
export { splitValues } from "./values.ts";
