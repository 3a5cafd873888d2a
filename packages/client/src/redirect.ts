import { SluiceError } from "./errors.ts";

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** The error that a redirect stands for, since the API has none; `null`: the answer is not one. `url` is the API's. */
export function redirectOf(url: string, path: string, response: Response): SluiceError | null {
  if (!REDIRECTS.includes(response.status)) return null;
  const target = targetOf(url, path, response.headers.get("location"));
  const detail =
    target === null
      ? `${url} redirects to another address. Redirects are not followed.`
      : target === url
        ? `${url} redirects to itself. Redirects are not followed: does something in front of the API ask for a login or a cookie?`
        : `${url} redirects to ${target}. Redirects are not followed: use ${target} as the URL if the API is there.`;
  return new SluiceError({ status: response.status, code: "redirected", title: "Redirected", detail });
}

/** Where the API would be by a redirect: its target without the path that was asked for, or all of it but the query. */
function targetOf(url: string, path: string, location: string | null): string | null {
  if (location === null || !URL.canParse(location, `${url}${path}`)) return null;
  const { origin, pathname } = new URL(location, `${url}${path}`);
  const [asked = ""] = path.split("?");
  // A slash added at the end is still the path that was asked for.
  const found = pathname.replace(/\/+$/, "");
  return found.endsWith(asked) ? `${origin}${found.slice(0, -asked.length)}` : `${origin}${pathname}`;
}
