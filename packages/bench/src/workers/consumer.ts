import consumer from "@sluice/consumer/src/index.ts";
import { counted } from "../counting/counted.ts";

/** The real consumer with its usage counted. */
export default counted(consumer);
