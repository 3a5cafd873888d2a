import producer from "@sluice/producer/src/index.ts";
import { stepping } from "./stepping.ts";

/** The producer as it is; each of its steps is one that it may be killed at. */
export default stepping("producer", producer);
