#!/usr/bin/env node
import { webIo } from "../io.ts";
import { EXIT } from "./exit-codes.ts";
import { main } from "./main.ts";
import { whenReaderLeaves } from "./reader.ts";

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  process.on(name, () => {
    // A second Ctrl-C exits at once.
    if (stop.signal.aborted) process.exit(EXIT.interrupted);
    stop.abort(new Error("stopped"));
  });
}
const { argv, env, stdin, stdout, stderr } = process;
whenReaderLeaves([stdout, stderr], () => process.exit(EXIT.ok));
process.exitCode = await main(argv.slice(2), { stdin, stdout, stderr, env, signal: stop.signal, sleep: webIo.sleep });
