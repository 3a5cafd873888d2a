import { counted } from "../counting/counted.ts";
import poller from "@sluice/poller/src/index.ts";

/** The real poller with its usage counted. */
export default counted(poller);
