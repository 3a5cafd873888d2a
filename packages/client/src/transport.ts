/** What `fetch` threw, by what may be done about it. */
export interface TransportFailure {
  /** Whether the same request may succeed another time, without anything being changed. */
  readonly isTransient: boolean;
  /** What went wrong, in a sentence about `url`. */
  readonly detail: string;
}

/** Codes of certificates that Node does not accept, besides those that begin with `CERT_`. */
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

/** Codes of connections that were not made, for a reason that may pass. */
const UNCONNECTED_CODES: ReadonlySet<string> = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** What a `fetch` throws where no other try is wanted; its `cause` is why. */
export class LastingFailure extends Error {
  override readonly name = "LastingFailure";
}

/** Describes why a request to `url` got no answer. A reason that is not known counts as transient. */
export function describeFailure(url: string, error: unknown): TransportFailure {
  if (error instanceof LastingFailure) return { ...describeFailure(url, error.cause), isTransient: false };
  const problem = lastingProblem(error);
  if (problem !== null) return { isTransient: false, detail: PROBLEMS[problem](url, codeOf(error)) };
  if (isNotHttp(error)) {
    return {
      isTransient: false,
      detail: `What ${url} answers is not HTTP: is it an https:// address, or another service?`,
    };
  }
  const reason = codeOf(error) ?? causeOf(error)?.message ?? "";
  const cause = reason === "" ? "" : ` (${reason})`;
  if (reason === "EAI_AGAIN")
    return { isTransient: true, detail: `The host name of ${url} was not looked up${cause}.` };
  const what = isUnconnected(error)
    ? `Nothing answers at ${url}${cause}. Is it running there?`
    : `${url} gave no answer, or the connection broke${cause}.`;
  return { isTransient: true, detail: what };
}

/** Whether no connection was made, so that nothing of the request went out. */
export function isUnconnected(error: unknown): boolean {
  if (error instanceof LastingFailure) return isUnconnected(error.cause);
  return lastingProblem(error) !== null || UNCONNECTED_CODES.has(codeOf(error) ?? "");
}

/** Whether something answered that Node could not read as HTTP. The request may have gone out. */
export function isNotHttp(error: unknown): boolean {
  return causeOf(error)?.name === "HTTPParserError" || (codeOf(error) ?? "").startsWith("HPE_");
}

type Problem = "certificate" | "tls" | "name" | "port" | "url";

const PROBLEMS: Readonly<Record<Problem, (url: string, code: string | null) => string>> = {
  certificate: (url, code) =>
    `The certificate of ${url} is not trusted (${code}). NODE_EXTRA_CA_CERTS names a file of certificates to trust.`,
  tls: (url, code) => `${url} does not answer in TLS (${code}): is it an http:// address?`,
  name: (url, code) => `The host name of ${url} does not resolve (${code}).`,
  port: (url) => `fetch blocks the port of ${url} (bad port): the API has to listen on another one.`,
  url: (url, code) => `${url} is not a valid URL (${code}).`,
};

/** Why a request fails until someone changes something; `null`: it may pass, or nobody knows. */
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

/** `fetch` wraps what went wrong in an error that says nothing. */
function causeOf(error: unknown): Error | null {
  if (!(error instanceof Error)) return null;
  return error.cause instanceof Error ? error.cause : error;
}
