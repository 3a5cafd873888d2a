import producer from "@sluice/producer/src/index.ts";
import { stepping } from "./stepping.ts";

/** The producer, which can be killed at each of its steps. */
export default stepping("producer", producer);
