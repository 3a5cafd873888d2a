import { counted } from "../counting/counted.ts";
import consumer from "@sluice/consumer/src/index.ts";

/** The consumer as it is, with what it uses counted. */
export default counted(consumer);
