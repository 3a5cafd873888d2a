/** Returns why a text cannot be the API's URL, in a sentence about `name`; `null` if it can. */
export function wrongUrl(name: string, text: string): string | null {
  if (!/^https?:\/\/./.test(text)) return `${name} must start with http:// or https://: ${text}`;
  if (!URL.canParse(text)) return `${name} is not a valid URL: ${text}`;
  const { username, password, search, hash } = new URL(text);
  // The text is not shown, because it may contain a password.
  if (username !== "" || password !== "") return `${name} must not contain a user name or password`;
  return search === "" && hash === "" ? null : `${name} must not contain ? or #: ${text}`;
}
