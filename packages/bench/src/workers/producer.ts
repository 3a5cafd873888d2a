import { counted } from "../counting/counted.ts";
import producer from "@sluice/producer/src/index.ts";

/** The producer as it is, with what it uses counted. */
export default counted(producer);
