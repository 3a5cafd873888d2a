/**
 * Errors of Workers AI by internal code. `env.AI.run` throws them with the message `CODE: description`, the only way
 * for a caller to distinguish them.
 */
export const SERVICE_ERRORS = {
  "3003": "Invalid or incomplete data in the request",
  "3006": "Request is too large",
  "3007": "Request timeout",
  "3008": "Request was aborted",
  "3023": "Unauthorized",
  "3036": "You have used up your daily free allocation of 10,000 neurons. Please upgrade to the Workers Paid plan.",
  "3039": "Finetune input missing",
  "3040": "Capacity temporarily exceeded, please try again.",
  "3041": "Account not allowed to use this feature",
  "3042": "Not found",
  "4006": "you have used up your daily free allocation of 10,000 neurons, please upgrade to the Workers Paid plan",
  "5004": "Invalid data",
  "5006": "Error: the input does not match the model's schema",
  "5007": "No such model or task",
  "5016": "Model agreement: the account has not accepted it",
  "5018": "Account not allowed for this model",
  "5035": "This model is on the Workers Paid plan only",
  "10000": "Authentication error",
} as const satisfies Record<string, string>;

export type ServiceCode = keyof typeof SERVICE_ERRORS;
export const serviceCodes = Object.keys(SERVICE_ERRORS) as [ServiceCode, ...ServiceCode[]];

/** The name that the binding gives to an error of the service. */
const SERVICE_ERROR_NAME = "InferenceUpstreamError";

function namedError(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}

export function serviceError(code: ServiceCode, detail: string = SERVICE_ERRORS[code]): Error {
  return namedError(SERVICE_ERROR_NAME, `${code}: ${detail}`);
}

/** Failures without a code: a proxy's page, an empty body, a broken connection, a body that is not JSON, an abort. */
export const codelessErrors = ["html", "empty", "network", "syntax", "aborted"] as const;
export type CodelessError = (typeof codelessErrors)[number];

const GATEWAY_PAGE =
  "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>" +
  "<body><center><h1>502 Bad Gateway</h1></center></body></html>\n";

export function codelessError(kind: CodelessError): Error {
  switch (kind) {
    case "html":
      return namedError(SERVICE_ERROR_NAME, GATEWAY_PAGE);
    case "empty":
      return namedError(SERVICE_ERROR_NAME, "");
    case "network":
      return new Error("Network connection lost.");
    case "syntax":
      return new SyntaxError("Unexpected end of JSON input");
    case "aborted":
      return namedError("AbortError", "The operation was aborted");
  }
}

/** The error thrown by a fault, or `null` if the fault does something else. */
export function thrownFault(fault: string): Error | null {
  const code = serviceCodes.find((one) => one === fault);
  if (code !== undefined) return serviceError(code);
  const kind = codelessErrors.find((one) => one === fault);
  return kind === undefined ? null : codelessError(kind);
}

/** The service's answer when it returns 200 for a failed call. */
export function unsuccessful(code: ServiceCode): unknown {
  return {
    success: false,
    errors: [{ code: Number(code), message: SERVICE_ERRORS[code] }],
    messages: [],
    result: null,
  };
}
