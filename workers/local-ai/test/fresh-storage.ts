import { reset } from "cloudflare:test";
import { beforeAll } from "vitest";

// The files share one runtime. A plan or a batch of the file before must not remain.
beforeAll(() => reset());
