interface Written {
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/** EPIPE: the other end of a pipe is closed. EIO: the terminal is gone. */
const READER_LEFT: readonly (string | undefined)[] = ["EPIPE", "EIO"];

/**
 * Calls `onLeft` once when the reader of a stream is gone, such as `| head`. It is detected at the next write: nothing
 * reports it earlier. Later writes are dropped.
 */
export function whenReaderLeaves(streams: readonly Written[], onLeft: () => void): void {
  let hasLeft = false;
  for (const stream of streams) {
    stream.on("error", (error) => {
      if (hasLeft) return;
      if (!READER_LEFT.includes(error.code)) throw error;
      hasLeft = true;
      onLeft();
    });
  }
}
