import poller from "@sluice/poller/src/index.ts";
import { stepping } from "./stepping.ts";

/** The poller as it is; each of its steps is one that it may be killed at. */
export default stepping("poller", poller);
