/** Why a text cannot be the API's address, in a sentence about `name`; `null`: it can. */
export function wrongUrl(name: string, text: string): string | null {
  if (!/^https?:\/\/./.test(text)) return `${name} must start with http:// or https://: ${text}`;
  if (!URL.canParse(text)) return `${name} is not a valid URL: ${text}`;
  const { username, password, search, hash } = new URL(text);
  // Not shown: it may hold a password.
  if (username !== "" || password !== "") return `${name} must hold no user name or password`;
  return search === "" && hash === "" ? null : `${name} must have no ? or #: ${text}`;
}
