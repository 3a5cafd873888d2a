import { withTimeout } from "@sluice/core";

/** A call to Workers AI took longer than it may. Whether the service acted on it is not known. */
export class CallTimeout extends Error {
  override readonly name = "CallTimeout";

  constructor(milliseconds: number) {
    super(`Workers AI did not answer within ${milliseconds / 1000} s.`);
  }
}

/** Gives what the call gives, or rejects with `CallTimeout` when it takes too long. */
export type Bounded = <T>(call: Promise<T>) => Promise<T>;

/** The binding has no time-out of its own; this gives up waiting, though the call itself goes on. */
export function boundedBy(milliseconds: number): Bounded {
  return (call) => withTimeout(call, milliseconds, () => new CallTimeout(milliseconds));
}
