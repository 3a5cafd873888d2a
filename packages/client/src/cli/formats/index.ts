export { explain } from "./explain.ts";
export { formatNames, formats, type FormatName } from "./formats.ts";
export {
  describeLocation,
  locationKey,
  type Entry,
  type FormatOptions,
  type Header,
  type Line,
  type Location,
  type Refusal,
} from "./format.ts";
export { splitValues } from "./values.ts";
