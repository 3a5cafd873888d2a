import { counted } from "../counting/counted.ts";
import poller from "@sluice/poller/src/index.ts";

/** The poller as it is, with what it uses counted. */
export default counted(poller);
