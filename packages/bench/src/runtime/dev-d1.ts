import { LOCAL_DATABASE_ID } from "@sluice/local/configuration";
import { migrations } from "./migrations.ts";

/** Runs SQL on the D1 of a running `wrangler dev`. Returns the rows as lists. */
export async function queryDev(url: string, sql: string): Promise<unknown[][]> {
  const response = await fetch(`${url}/cdn-cgi/local/explorer/api/d1/database/${LOCAL_DATABASE_ID}/raw`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
  if (!response.ok) throw new Error(`D1 answered with ${response.status}: ${(await response.text()).slice(0, 300)}`);
  const { result } = await response.json<{
    result: readonly { readonly results: { readonly rows: unknown[][] } }[];
  }>();
  return result[0]?.results.rows ?? [];
}

export async function migrateDev(url: string): Promise<void> {
  for (const statement of migrations()) await queryDev(url, statement);
}
