/**
 * Settles as `call` does, or rejects with `error()` if that takes more than `milliseconds`. The call itself is not
 * stopped and may still take effect.
 */
export function withTimeout<T>(call: Promise<T>, milliseconds: number, error: () => Error): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(error()), milliseconds);
    // Both outcomes are handled here, so a call that fails after the time-out causes no unhandled rejection.
    call.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (thrown: unknown) => {
        clearTimeout(timer);
        reject(thrown);
      },
    );
  });
}
