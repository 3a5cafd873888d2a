import { SluiceError } from "./errors.ts";

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/**
 * Returns the error for a redirect, because the API never redirects; `null` if the answer is not one. `url` is the
 * API's.
 */
export function redirectOf(url: string, path: string, response: Response): SluiceError | null {
  if (!REDIRECTS.includes(response.status)) return null;
  const target = targetOf(url, path, response.headers.get("location"));
  const detail =
    target === null
      ? `${url} redirects to another address. Redirects are not followed.`
      : target === url
        ? `${url} redirects to itself. Redirects are not followed. Check whether a proxy in front of the API requires a login or a cookie.`
        : `${url} redirects to ${target}. Redirects are not followed. If the API is at ${target}, use that as the URL.`;
  return new SluiceError({ status: response.status, code: "redirected", title: "Redirected", detail });
}

/** Derives the API's URL from a redirect: the target without the requested path, or without its query. */
function targetOf(url: string, path: string, location: string | null): string | null {
  if (location === null || !URL.canParse(location, `${url}${path}`)) return null;
  const { origin, pathname } = new URL(location, `${url}${path}`);
  const [asked = ""] = path.split("?");
  // A target with an added trailing slash still ends in the requested path.
  const found = pathname.replace(/\/+$/, "");
  return found.endsWith(asked) ? `${origin}${found.slice(0, -asked.length)}` : `${origin}${pathname}`;
}
