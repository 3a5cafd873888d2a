import type { Result } from "@sluice/core";
import type { ApiContext } from "./context.ts";
import type { Problem } from "./http/problems.ts";

/** One thing that the API does, over HTTP and RPC alike. Its input is parsed already; the verb checks its key. */
export type Verb<Input, Value> = (context: ApiContext, input: Input) => Promise<Result<Value, Problem>>;
