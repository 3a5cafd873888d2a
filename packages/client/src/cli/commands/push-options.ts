import type { Lane } from "../../types.ts";
import type { FormatName } from "../formats/index.ts";

/** Their waits, which double, make 30 to 60 s in all: a server that is started again is back by then. */
export const PUSH_RETRIES = 7;

/** What `push` was called with. */
export interface PushFlags {
  readonly collection?: string;
  readonly model?: string;
  readonly lane?: Lane;
  readonly label?: string;
  readonly truncate: boolean;
  readonly format: FormatName;
  readonly key?: string;
  readonly gzip?: boolean;
  readonly estimate?: boolean;
  readonly maxUsd?: number;
  readonly wait: boolean;
}
