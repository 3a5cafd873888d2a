import { playMatrix } from "./play.ts";
import { polled, pushed } from "./points.ts";

// Two stacks beside each other: each waits for the start of its runtime most of the time.
playMatrix("a push, up to its request_id", pushed);
playMatrix("a job, up to its scores", polled);
