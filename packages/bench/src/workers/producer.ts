import { counted } from "../counting/counted.ts";
import producer from "@sluice/producer/src/index.ts";

/** The real producer with its usage counted. */
export default counted(producer);
