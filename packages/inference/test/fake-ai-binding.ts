import type { BatchBinding } from "../src/index.ts";

/** The data sent to the service behind the binding. */
interface ServiceRequest {
  readonly model: string;
  readonly inputs: Record<string, unknown>;
  readonly options: Record<string, unknown>;
}

/** The name that the runtime gives to errors of its `Ai` class. */
class InferenceUpstreamError extends Error {
  override readonly name = "InferenceUpstreamError";
}

/**
 * Behaves like the platform's `env.AI` over HTTP: inputs and options are sent as JSON, a body is parsed only with the
 * exact content type, an answer of 400 and above (or without a body) is thrown with a message built from the body, and
 * a 200 is returned whatever it contains.
 */
export class FakeAiBinding implements BatchBinding {
  readonly sent: ServiceRequest[] = [];
  readonly #service: (request: ServiceRequest) => Response | Promise<Response>;

  constructor(service: (request: ServiceRequest) => Response | Promise<Response>) {
    this.#service = service;
  }

  async run(model: string, inputs: Record<string, unknown>, options: Record<string, unknown> = {}): Promise<unknown> {
    // JSON drops undefined values.
    const request = JSON.parse(JSON.stringify({ model, inputs, options })) as ServiceRequest;
    this.sent.push(request);
    const response = await this.#service(request);
    if (response.status >= 400 || response.body === null)
      throw new InferenceUpstreamError(await thrownMessage(response));
    return response.headers.get("content-type") === "application/json" ? response.json() : response.body;
  }
}

interface ErrorBody {
  readonly internalCode?: number;
  readonly description?: string;
  readonly errors?: readonly { readonly code?: number; readonly message?: string }[];
}

async function thrownMessage(response: Response): Promise<string> {
  const raw = await response.text();
  let body: ErrorBody | null;
  try {
    body = JSON.parse(raw) as ErrorBody | null;
  } catch {
    return raw;
  }
  if (body?.internalCode !== undefined) return `${body.internalCode}: ${body.description}`;
  const first = body?.errors?.[0];
  return first === undefined ? raw : `${first.code}: ${first.message}`;
}

/** A JSON answer of the service, with the content type that the binding parses by default. */
export function jsonResponse(value: unknown, status = 200, contentType = "application/json"): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": contentType } });
}
