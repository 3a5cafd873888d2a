import poller from "@sluice/poller/src/index.ts";
import { stepping } from "./stepping.ts";

/** The poller, which can be killed at each of its steps. */
export default stepping("poller", poller);
