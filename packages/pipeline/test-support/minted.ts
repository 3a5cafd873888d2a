let minted = 0;

/** Returns 1, 2, 3 and so on: each number once in a test. */
export function mintNumber(): number {
  minted += 1;
  return minted;
}

/** Starts again at 1, so that a test gets the same ids alone as after others. */
export function restartMinting(): void {
  minted = 0;
}
