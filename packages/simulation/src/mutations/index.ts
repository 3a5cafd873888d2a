import { ENDING } from "./ending.ts";
import { INTERVENING } from "./intervening.ts";
import { LIMITING } from "./limiting.ts";
import { MERGING } from "./merging.ts";
import type { Mutation } from "./mutation.ts";
import { READING } from "./reading.ts";
import { RECORDING } from "./recording.ts";

export type { Mutation } from "./mutation.ts";

export const MUTATIONS: readonly Mutation[] = [
  ...RECORDING,
  ...ENDING,
  ...INTERVENING,
  ...LIMITING,
  ...MERGING,
  ...READING,
];
