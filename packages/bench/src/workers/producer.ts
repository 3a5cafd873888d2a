import producer from "@sluice/producer/src/index.ts";
import { counted } from "../counting/counted.ts";

/** The real producer with its usage counted. */
export default counted(producer);
