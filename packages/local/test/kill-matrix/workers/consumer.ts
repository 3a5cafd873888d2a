import consumer from "@sluice/consumer/src/index.ts";
import { stepping } from "./stepping.ts";

/** The consumer as it is; each of its steps is one that it may be killed at. */
export default stepping("consumer", consumer);
