import type { Call, Handler } from "@sluice/producer/src/context.ts";
import type { Invocation } from "./invocation.ts";
import { bodyOf } from "./pushes.ts";
import { answerOf, callOf, dependenciesOf, type Answer } from "./requests.ts";
import type { Stack } from "./stack.ts";
import { MINUTE, type World } from "./world.ts";

/** Sends requests to the producer. */
export class Asking {
  readonly #world: World;
  readonly #stack: Stack;

  constructor(world: World, stack: Stack) {
    this.#world = world;
    this.#stack = stack;
  }

  /**
   * Sends a request. `answered` is called with an answer below 500, `ended` with every answer, or `null` if there is
   * none.
   */
  ask(
    what: string,
    handle: Handler,
    callFor: (by: Invocation) => Call,
    answered: (answer: Answer) => void = () => {},
    ended: (answer: Answer | null) => void = () => {},
  ): void {
    const world = this.#world;
    const { faults, random, timeline } = world;
    world.trace.add("client", what);
    world.invoke<Answer>(
      "producer",
      async (by) => answerOf(await handle(dependenciesOf(world, this.#stack, by), callFor(by))),
      (answer) => {
        world.trace.add("client", answer === null ? "gets no answer" : `gets ${answer.status}`);
        ended(answer);
        if (answer !== null && answer.status < 500) return answered(answer);
        // During faults, people act again later anyway. Their last action is repeated until it is answered.
        if (!faults.isOn)
          timeline.after(random.spread(500, MINUTE), () => this.ask(what, handle, callFor, answered, ended));
      },
    );
  }
}

/** Builds a call with a JSON body. Each request gets a new body, because it can be read only once. */
export function jsonCall(path: string, body: object): (by: Invocation) => Call {
  return (by) => {
    const stream = bodyOf(by, [JSON.stringify(body)], { disconnectsAfter: null, pause: () => Promise.resolve() });
    return callOf({ path, headers: { "content-type": "application/json" }, body: stream });
  };
}
