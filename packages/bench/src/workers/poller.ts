import poller from "@sluice/poller/src/index.ts";
import { counted } from "../counting/counted.ts";

/** The real poller with its usage counted. */
export default counted(poller);
