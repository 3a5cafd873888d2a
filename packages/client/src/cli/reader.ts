interface Written {
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/** EPIPE: the other end of a pipe is closed. EIO: the terminal is gone. */
const READER_LEFT: readonly (string | undefined)[] = ["EPIPE", "EIO"];

/**
 * Calls `onLeft` once when whoever reads one of the streams has left, such as `| head`. Noticed at the
 * next write: nothing reports it earlier. What is written afterwards is dropped.
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
