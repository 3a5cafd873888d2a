import poller from "@sluice/poller/src/index.ts";
import { counted } from "../counting/counted.ts";
import { sweepLater } from "./sweep-later.ts";

/** The real poller with its usage counted, and a route that sweeps as some days later. */
export default counted({ ...poller, fetch: sweepLater });
