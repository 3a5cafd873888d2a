import { oneLine } from "@sluice/client/terminal";
import { err, ok, parseSubmissionId, type Result } from "@sluice/core";
import * as z from "zod";
import { cut } from "./figures.ts";

/** How to reach a running stack. */
export interface Api {
  readonly url: string;
  readonly key: string;
}

const submissionSchema = z.object({
  id: z.string().transform((text, context) => {
    const id = parseSubmissionId(text);
    if (id !== null) return id;
    context.issues.push({ code: "custom", input: undefined, message: "not a submission id" });
    return z.NEVER;
  }),
  status: z.enum(["receiving", "queued", "processing", "canceling", "completed", "canceled"]),
  counts: z.object({
    total: z.number(),
    queued: z.number(),
    processing: z.number(),
    succeeded: z.number(),
    failed: z.number(),
    canceled: z.number(),
  }),
  failures: z.record(z.string(), z.number()),
  stalled: z.object({ missing: z.number() }).nullable(),
  usage: z.object({ tokens: z.number(), jobs: z.number() }),
});
export type Submission = z.output<typeof submissionSchema>;

const pushedSchema = z.object({
  submission: submissionSchema,
  accepted: z.number(),
  rejected_count: z.number(),
  rejected: z.array(z.object({ line: z.number(), detail: z.string() })),
});
export type Pushed = z.output<typeof pushedSchema>;

const problemSchema = z.object({
  title: z.string(),
  detail: z.string().optional(),
  errors: z.array(z.object({ line: z.number().optional(), detail: z.string() })).optional(),
});

/** Pushes NDJSON, byte for byte. With the same key again it sends what was lost. An error is what the producer says of it. */
export async function push(api: Api, ndjson: Uint8Array<ArrayBuffer>, key: string): Promise<Result<Pushed, string>> {
  const response = await call(api, "/v1/documents", {
    method: "POST",
    body: ndjson,
    headers: { "idempotency-key": key },
  });
  const text = await response.text();
  const body = parseJson(text);
  if (response.status === 202) return ok(pushedSchema.parse(body));
  const problem = problemSchema.safeParse(body);
  // The runtime itself may answer in the place of the producer.
  if (!problem.success) return err(`The push was answered with ${response.status}: ${cut(text, 200)}`);
  const { title, detail, errors = [] } = problem.data;
  return err([`${title}: ${detail ?? response.status}`, ...rejectedLines(errors)].join("\n"));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export async function readSubmission(api: Api, id: string): Promise<Submission> {
  return submissionSchema.parse(await read(api, `/v1/submissions/${id}`));
}

const listSchema = z.object({ data: z.array(submissionSchema) });

/** Submissions that are not at their end, among the newest 1,000. */
export async function openSubmissions(api: Api): Promise<Submission[]> {
  const page = listSchema.parse(await read(api, "/v1/submissions?limit=1000"));
  return page.data.filter(({ status }) => status !== "completed" && status !== "canceled");
}

const MOST_LINES = 5;

/** The first few refused lines, each with what is wrong. */
export function rejectedLines(
  errors: readonly { readonly line?: number | undefined; readonly detail: string }[],
): string[] {
  const lines = errors
    .slice(0, MOST_LINES)
    .map(({ line, detail }) => `  ${line === undefined ? "" : `line ${line}: `}${oneLine(detail)}`);
  return errors.length > MOST_LINES ? [...lines, `  and ${errors.length - MOST_LINES} more`] : lines;
}

async function read(api: Api, path: string): Promise<unknown> {
  const response = await call(api, path, {});
  if (!response.ok) throw new Error(`GET ${path} answered ${response.status}`);
  return response.json();
}

function call(
  { url, key }: Api,
  path: string,
  { headers, ...init }: Omit<RequestInit, "headers"> & { readonly headers?: Readonly<Record<string, string>> },
): Promise<Response> {
  return fetch(`${url}${path}`, {
    ...init,
    headers: { "content-type": "application/x-ndjson", authorization: `Bearer ${key}`, ...headers },
  });
}
