import type { Lane } from "../../types.ts";
import type { FormatName } from "../formats/index.ts";

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
