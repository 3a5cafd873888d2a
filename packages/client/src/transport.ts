/** An error thrown by `fetch`, classified by what can be done about it. */
export interface TransportFailure {
  /** Whether the same request may succeed later without any change. */
  readonly isTransient: boolean;
  /** What went wrong, in a sentence about `url`. */
  readonly detail: string;
}

/** Codes of certificates that Node does not accept, in addition to those that begin with `CERT_`. */
const CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "HOSTNAME_MISMATCH",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_CRL",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Codes of connections that could not be made, for a transient reason. */
const UNCONNECTED_CODES: ReadonlySet<string> = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Thrown by a `fetch` to prevent a retry; its `cause` is the reason. */
export class LastingFailure extends Error {
  override readonly name = "LastingFailure";
}

/** Describes why a request to `url` got no answer. An unknown reason counts as transient. */
export function describeFailure(url: string, error: unknown): TransportFailure {
  if (error instanceof LastingFailure) return { ...describeFailure(url, error.cause), isTransient: false };
  const problem = lastingProblem(error);
  if (problem !== null) return { isTransient: false, detail: PROBLEMS[problem](url, codeOf(error)) };
  if (isNotHttp(error)) {
    return {
      isTransient: false,
      detail: `The answer of ${url} is not HTTP. It may be an https:// address or another service.`,
    };
  }
  const reason = codeOf(error) ?? causeOf(error)?.message ?? "";
  const cause = reason === "" ? "" : ` (${reason})`;
  if (reason === "EAI_AGAIN")
    return { isTransient: true, detail: `The host name of ${url} could not be looked up${cause}.` };
  const what = isUnconnected(error)
    ? `Nothing answers at ${url}${cause}. Check that the server is running.`
    : `${url} gave no answer, or the connection broke${cause}.`;
  return { isTransient: true, detail: what };
}

/** Whether no connection was made, so that no part of the request was sent. */
export function isUnconnected(error: unknown): boolean {
  if (error instanceof LastingFailure) return isUnconnected(error.cause);
  return lastingProblem(error) !== null || UNCONNECTED_CODES.has(codeOf(error) ?? "");
}

/** Whether Node received an answer that is not HTTP. The request may have been sent. */
export function isNotHttp(error: unknown): boolean {
  return causeOf(error)?.name === "HTTPParserError" || (codeOf(error) ?? "").startsWith("HPE_");
}

type Problem = "certificate" | "tls" | "name" | "port" | "url";

const PROBLEMS: Readonly<Record<Problem, (url: string, code: string | null) => string>> = {
  certificate: (url, code) =>
    `The certificate of ${url} is not trusted (${code}). To trust it, put it in a file and set NODE_EXTRA_CA_CERTS to its path.`,
  tls: (url, code) => `${url} does not answer in TLS (${code}). It may be an http:// address.`,
  name: (url, code) => `The host name of ${url} does not resolve (${code}).`,
  port: (url) => `fetch blocks the port of ${url} (bad port). The API must listen on another port.`,
  url: (url, code) => `${url} is not a valid URL (${code}).`,
};

/** The reason a request keeps failing until someone fixes it; `null` if it may be transient. */
function lastingProblem(error: unknown): Problem | null {
  const code = codeOf(error) ?? "";
  if (CERTIFICATE_CODES.has(code) || code.startsWith("CERT_")) return "certificate";
  if (code === "EPROTO" || code.startsWith("ERR_SSL_") || code.startsWith("ERR_TLS_")) return "tls";
  if (code === "ENOTFOUND") return "name";
  if (code === "ERR_INVALID_URL") return "url";
  return causeOf(error)?.message === "bad port" ? "port" : null;
}

function codeOf(error: unknown): string | null {
  const cause = causeOf(error);
  return cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : null;
}

/** `fetch` wraps the real error in a generic one. */
function causeOf(error: unknown): Error | null {
  if (!(error instanceof Error)) return null;
  return error.cause instanceof Error ? error.cause : error;
}
