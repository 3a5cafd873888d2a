import consumer from "@sluice/consumer/src/index.ts";
import { stepping } from "./stepping.ts";

/** The consumer, which can be killed at each of its steps. */
export default stepping("consumer", consumer);
