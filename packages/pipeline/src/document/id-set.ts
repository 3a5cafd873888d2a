/** Slots of the smallest and the largest table. The largest takes 32 MB. */
const MIN_SLOTS = 1 << 12;
const MAX_SLOTS = 1 << 22;
/** A fuller table is doubled, because finding a free slot in a full table is slow. */
const FULLEST = 0.75;

/** Maximum ids in a set. */
export const MAX_SET_IDS = MAX_SLOTS * FULLEST;

/**
 * A set of ids in eight bytes each, outside the heap: the strings of a million ids would take most of a Worker's 128
 * MB. An id in the set is always found. Any other id matches each id in the set with a probability of 2⁻⁶⁴: with two
 * million ids, that happens in one of ten million sets. `seed` is random, so that nobody can choose ids that collide.
 */
export class IdSet {
  readonly #seed: number;
  /** Each slot holds the two halves of a hash. In a free slot both are 0. */
  #slots = new Uint32Array(2 * MIN_SLOTS);
  #size = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds an id. Returns `added`, `known` if it was in the set already, or `full` if there is no space left. */
  add(id: string): "added" | "known" | "full" {
    const [low, high] = hash(id, this.#seed);
    const at = find(this.#slots, low, high);
    if (this.#slots[at] === low && this.#slots[at + 1] === high) return "known";
    if (this.#size >= MAX_SET_IDS) return "full";
    this.#slots[at] = low;
    this.#slots[at + 1] = high;
    this.#size += 1;
    if (this.#size >= FULLEST * (this.#slots.length / 2)) this.#double();
    return "added";
  }

  #double(): void {
    const before = this.#slots;
    if (before.length >= 2 * MAX_SLOTS) return;
    const slots = new Uint32Array(2 * before.length);
    for (let from = 0; from < before.length; from += 2) {
      const [low, high] = [before[from] as number, before[from + 1] as number];
      if (low === 0 && high === 0) continue;
      const at = find(slots, low, high);
      slots[at] = low;
      slots[at + 1] = high;
    }
    this.#slots = slots;
  }
}

/** The index of a hash, or of the free slot for it. */
function find(slots: Uint32Array, low: number, high: number): number {
  const mask = slots.length - 1;
  let at = (low * 2) & mask;
  while (!(slots[at] === low && slots[at + 1] === high) && (slots[at] !== 0 || slots[at + 1] !== 0)) {
    at = (at + 2) & mask;
  }
  return at;
}

/**
 * Computes 64 bits from a text, never all 0: two multiplicative hashes over its UTF-16, mixed into each other at the
 * end.
 */
function hash(text: string, seed: number): [low: number, high: number] {
  let a = seed ^ 0x9e37_79b9;
  let b = seed ^ 0x85eb_ca6b;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x9e37_79b1);
    a = (a << 13) | (a >>> 19);
    b = Math.imul(b ^ unit, 0x85eb_ca77);
    b = (b << 15) | (b >>> 17);
  }
  a = mix(a ^ text.length ^ Math.imul(b, 0xc2b2_ae3d));
  b = mix(b ^ Math.imul(a, 0x27d4_eb2f));
  return [a >>> 0, (b | (a === 0 ? 1 : 0)) >>> 0];
}

/** Spreads every bit over all 32 bits. */
function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return mixed ^ (mixed >>> 16);
}
