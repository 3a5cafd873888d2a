import { playMatrix } from "./play.ts";
import { polled, pushed } from "./points.ts";

// Two stacks in parallel, because each mostly waits for its runtime to start.
playMatrix("a push, up to its request_id", pushed);
playMatrix("a job, up to its scores", polled);
