import { CLEARING } from "./clearing.ts";
import { CLOCKS } from "./clocks.ts";
import { COUNTING } from "./counting.ts";
import { DELIVERING } from "./delivering.ts";
import { ENDING } from "./ending.ts";
import { FILLING } from "./filling.ts";
import { INTERVENING } from "./intervening.ts";
import { LIMITING } from "./limiting.ts";
import { LOADING } from "./loading.ts";
import { MERGING } from "./merging.ts";
import { FORGETTING } from "./forgetting.ts";
import type { Mutation } from "./mutation.ts";
import { READING } from "./reading.ts";
import { RECORDING } from "./recording.ts";
import { REPORTING } from "./reporting.ts";
import { RETRYING } from "./retrying.ts";
import { TIMING } from "./timing.ts";

export type { Mutation } from "./mutation.ts";

export const MUTATIONS: readonly Mutation[] = [
  ...RECORDING,
  ...ENDING,
  ...INTERVENING,
  ...CLEARING,
  ...RETRYING,
  ...LIMITING,
  ...LOADING,
  ...MERGING,
  ...CLOCKS,
  ...READING,
  ...REPORTING,
  ...TIMING,
  ...COUNTING,
  ...DELIVERING,
  ...FILLING,
  ...FORGETTING,
];
