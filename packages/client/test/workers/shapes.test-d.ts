/* Compiled, never run: a check fits one type only, so a type cannot change without its check. */
import type { documentShape, healthShape, statsShape, submissionShape } from "../../src/answers/answers.ts";
import type { object, Shape } from "../../src/answers/shape.ts";
import type { Document, Health, Stats, Submission } from "../../src/types.ts";

type Fits<A, B> = [A] extends [B] ? true : false;
type True<Check extends true> = Check;
type False<Check extends false> = Check;

/** The argument of `object`. */
type Fields<T extends object> = Parameters<typeof object<T>>[0];

interface Now {
  readonly id: string;
  readonly note: string | null;
  readonly more?: number | undefined;
}
interface Checked {
  readonly id: Shape<string>;
  readonly note: Shape<string | null>;
  readonly more: Shape<number | undefined>;
}

export type Checks = [
  True<Fits<Checked, Fields<Now>>>,
  // After a field is added, becomes nullable, optional, or another type, its old check no longer fits.
  False<Fits<Checked, Fields<Now & { readonly added: string }>>>,
  False<Fits<Checked, Fields<Omit<Now, "id"> & { readonly id: string | null }>>>,
  False<Fits<Checked, Fields<Omit<Now, "id"> & { readonly id?: string | undefined }>>>,
  False<Fits<Checked, Fields<Omit<Now, "id"> & { readonly id: number }>>>,
  False<Fits<Checked, Fields<Omit<Now, "note"> & { readonly note: string }>>>,
];

export type Answers = [
  True<Fits<typeof documentShape, Shape<Document>>>,
  True<Fits<typeof submissionShape, Shape<Submission>>>,
  True<Fits<typeof statsShape, Shape<Stats>>>,
  True<Fits<typeof healthShape, Shape<Health>>>,
  False<Fits<typeof documentShape, Shape<Document & { readonly added: string }>>>,
];
