import { counted } from "../counting/counted.ts";
import consumer from "@sluice/consumer/src/index.ts";

/** The real consumer with its usage counted. */
export default counted(consumer);
