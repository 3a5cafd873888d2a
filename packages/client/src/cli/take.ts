import type { List } from "../index.ts";
import type { Page } from "../types.ts";

/**
 * Returns up to a number of items of a list, and its first page. A page may be short or empty and still have a next
 * one: with a filter, the API scans a fixed number of rows per page.
 */
export async function take<Item, P extends Page<Item>>(
  list: List<Item, P>,
  max: number,
): Promise<{ readonly items: Item[]; readonly first: P }> {
  const first = await list.page();
  const items = [...first.data];
  for (let next = first.next_cursor; next !== null && items.length < max;) {
    const page = await list.page(next);
    items.push(...page.data);
    next = page.next_cursor;
  }
  return { items: items.slice(0, max), first };
}
