import * as z from "zod";
import { LOCAL_DATABASE_ID } from "../configuration.ts";

const answerSchema = z.object({
  result: z.array(
    z.object({ results: z.object({ columns: z.array(z.string()), rows: z.array(z.array(z.unknown())) }) }),
  ),
});

/**
 * Queries the running stack's D1 in the format of Cloudflare's D1 API. Returns rows as objects of the given shape. All
 * parameters are text.
 */
export async function queryD1<Shape extends z.ZodType>(
  url: string,
  sql: string,
  params: readonly string[],
  shape: Shape,
): Promise<z.output<Shape>[]> {
  const response = await fetch(`${url}/cdn-cgi/local/explorer/api/d1/database/${LOCAL_DATABASE_ID}/raw`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql, params }),
  });
  if (!response.ok) throw new Error(`D1 answered ${response.status}: ${(await response.text()).slice(0, 500)}`);
  const [first] = answerSchema.parse(await response.json()).result;
  if (first === undefined) return [];
  const { columns, rows } = first.results;
  return rows.map((row) => shape.parse(Object.fromEntries(columns.map((name, index) => [name, row[index]]))));
}
