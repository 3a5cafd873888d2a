import { Random } from "../random.ts";
import { FAULTS, type ChosenFault, type Fault } from "./fault-rates.ts";
import { KINDS } from "./kinds.ts";

/** The share of seeds in which things are kept for minutes only. */
const FORGETTING = 0.05;

/** Chooses the faults of a seed, decides when each occurs, and counts the occurrences. */
export class Faults {
  readonly kind: string;
  /** See `Kind`. */
  readonly pushesAreMixed: boolean;
  readonly isLoad: boolean;
  readonly pushesShareJobs: boolean;
  readonly hasResumedPushes: boolean;
  readonly hasPausesAtSubmits: boolean;
  readonly hasFrozenRetries: boolean;
  readonly forgets: boolean;
  readonly occurred = new Map<Fault, number>();
  readonly #random: Random;
  readonly #rates = new Map<Fault, number>();
  #on = true;

  /** `isCompared`: restricts the faults to those that every compared design supports. */
  constructor(seed: number, random: Random, kindNamed: string | null, isCompared = false) {
    this.#random = random;
    let drawn = random.next();
    const drawnKind = KINDS.find(({ share }) => (drawn -= share) < 0);
    const kind = KINDS.find(({ name }) => name === kindNamed) ?? drawnKind ?? KINDS[0];
    this.kind = kind.name;
    this.pushesAreMixed = kind.pushesAreMixed ?? false;
    this.isLoad = kind.isLoad ?? false;
    this.pushesShareJobs = kind.pushesShareJobs ?? false;
    this.hasResumedPushes = !isCompared && kind.hasResumedPushes === true;
    this.hasPausesAtSubmits = !isCompared && kind.hasPausesAtSubmits === true;
    // Not drawn from the other random numbers, so that the rest of a seed stays the same.
    this.forgets =
      !isCompared && !this.isLoad && (kind.forgets === true || new Random(seed + 2 ** 31).chance(FORGETTING));
    this.hasFrozenRetries = !isCompared && kind.hasFrozenRetries === true;
    for (const fault of kind.of) {
      if (!random.chance(kind.among)) continue;
      this.#rates.set(fault, Math.min(FAULTS[fault] * kind.times, 0.75));
    }
  }

  /** Decides whether the fault occurs now. */
  strikes(fault: ChosenFault): boolean {
    const rate = this.#on ? (this.#rates.get(fault) ?? 0) : 0;
    if (rate === 0 || !this.#random.chance(rate)) return false;
    this.count(fault);
    return true;
  }

  count(fault: Fault): void {
    this.occurred.set(fault, (this.occurred.get(fault) ?? 0) + 1);
  }

  get isOn(): boolean {
    return this.#on;
  }

  /** Ends all faults. */
  end(): void {
    this.#on = false;
  }
}
