/**
 * The parameters of a path by its pattern (`/v1/things/:id`), each decoded exactly once, so that an id
 * may hold any character, a slash written `%2F` too. `null` where one is not valid percent-encoding.
 */
export function pathParameters(pattern: string, pathname: string): Record<string, string> | null {
  const segments = pathname.split("/");
  const parameters: Record<string, string> = {};
  for (const [index, step] of pattern.split("/").entries()) {
    if (!step.startsWith(":")) continue;
    try {
      parameters[step.slice(1)] = decodeURIComponent(segments[index] ?? "");
    } catch {
      return null;
    }
  }
  return parameters;
}
