/** Records events in short lines, and a hash of them that must be the same in every run of a seed. */
export class Trace {
  readonly lines: string[] = [];
  readonly #keeps: boolean;
  readonly #now: () => number;
  readonly #start: number;
  #hash = 0x811c9dc5;
  #steps = 0;

  constructor(keeps: boolean, now: () => number) {
    this.#keeps = keeps;
    this.#now = now;
    this.#start = now();
  }

  add(who: string, what: string, fault: string | null = null): void {
    this.#steps += 1;
    const time = this.#now() - this.#start;
    this.#mix(time);
    for (let i = 0; i < what.length; i += 1) this.#mix(what.charCodeAt(i));
    if (fault !== null) this.#mix(fault.length);
    if (!this.#keeps) return;
    const clock = `${(time / 60_000).toFixed(3)}m`;
    this.lines.push(
      `${String(this.#steps).padStart(5)} ${clock.padStart(11)}  ${who.padEnd(13)} ${what}${fault === null ? "" : `   ! ${fault}`}`,
    );
  }

  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  get steps(): number {
    return this.#steps;
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ value, 0x01000193);
  }
}
