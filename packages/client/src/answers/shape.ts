/**
 * Checks a parsed JSON value. Returns `null`, or a JSON Pointer to the first mismatch and a description of it. `T` is
 * invariant, so a check fits exactly the type it is written for: a type that changes without its check does not
 * compile.
 */
export interface Shape<in out T> {
  readonly flaw: (value: unknown, pointer: string) => string | null;
  /** Never set: it carries `T`. */
  readonly type?: (value: T) => T;
}

function shape<T>(isValid: (value: unknown) => boolean, expected: string): Shape<T> {
  return { flaw: (value, pointer) => (isValid(value) ? null : mismatch(pointer, expected, value)) };
}

function mismatch(pointer: string, expected: string, value: unknown): string {
  const location = pointer === "" ? "the answer" : pointer;
  return value === undefined ? `${location} is missing` : `${location} must be ${expected}`;
}

/** A string. The values are not checked against `T`, because a newer server may know more of them. */
export function text<T extends string = string>(): Shape<T> {
  return shape((value) => typeof value === "string", "a string");
}

/** A string that parses as a date. */
export const time: Shape<string> = shape(
  (value) => typeof value === "string" && !Number.isNaN(Date.parse(value)),
  "a time",
);

export const number: Shape<number> = shape((value) => typeof value === "number", "a number");

export const boolean: Shape<boolean> = shape((value) => typeof value === "boolean", "a boolean");

/** Any value that is present. */
export const anything: Shape<unknown> = shape((value) => value !== undefined, "a value");

/** No value, for an answer without a body. */
export const nothing: Shape<void> = shape((value) => value === undefined, "empty");

/** Text in the OpenMetrics format, complete to its end. */
export const openMetrics: Shape<string> = shape(
  (value) => typeof value === "string" && value.endsWith("# EOF\n"),
  "in the OpenMetrics format",
);

export function literal<const T extends string>(wanted: T): Shape<T> {
  return shape((value) => value === wanted, JSON.stringify(wanted));
}

export function nullable<T>(inner: Shape<T>): Shape<T | null> {
  return { flaw: (value, pointer) => (value === null ? null : inner.flaw(value, pointer)) };
}

/** May be absent. */
export function optional<T>(inner: Shape<T>): Shape<T | undefined> {
  return { flaw: (value, pointer) => (value === undefined ? null : inner.flaw(value, pointer)) };
}

export function list<T>(item: Shape<T>): Shape<readonly T[]> {
  return {
    flaw(value, pointer) {
      if (!Array.isArray(value)) return mismatch(pointer, "a list", value);
      for (const [index, one] of value.entries()) {
        const flaw = item.flaw(one, `${pointer}/${index}`);
        if (flaw !== null) return flaw;
      }
      return null;
    },
  };
}

/** An object with arbitrary keys whose values share one shape. */
export function record<T>(item: Shape<T>): Shape<Readonly<Record<string, T>>> {
  return {
    flaw(value, pointer) {
      if (!isObject(value)) return mismatch(pointer, "an object", value);
      for (const [key, one] of Object.entries(value)) {
        const flaw = item.flaw(one, `${pointer}/${key}`);
        if (flaw !== null) return flaw;
      }
      return null;
    },
  };
}

/** An object with a shape for each key of `T`. Unknown keys are accepted: a newer server may send more. */
export function object<T extends object>(fields: { readonly [Key in keyof T]-?: Shape<T[Key]> }): Shape<T> {
  const shapes = Object.entries<Shape<never>>(fields as unknown as Readonly<Record<string, Shape<never>>>);
  return {
    flaw(value, pointer) {
      if (!isObject(value)) return mismatch(pointer, "an object", value);
      for (const [key, inner] of shapes) {
        const flaw = inner.flaw(value[key], `${pointer}/${key}`);
        if (flaw !== null) return flaw;
      }
      return null;
    },
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
