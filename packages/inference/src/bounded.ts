import { withTimeout } from "@sluice/core";

/** A call to Workers AI exceeded its time limit. It is unknown whether the service acted on it. */
export class CallTimeout extends Error {
  override readonly name = "CallTimeout";

  constructor(milliseconds: number) {
    super(`Workers AI did not answer within ${milliseconds / 1000} s.`);
  }
}

/** Settles as the call does, or rejects with `CallTimeout` if it takes too long. */
export type Bounded = <T>(call: Promise<T>) => Promise<T>;

/** The binding has no time limit of its own. This stops waiting, but the call itself continues. */
export function boundedBy(milliseconds: number): Bounded {
  return (call) => withTimeout(call, milliseconds, () => new CallTimeout(milliseconds));
}
