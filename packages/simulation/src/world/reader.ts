import type { ApiContext, Handler } from "@sluice/producer/src/context.ts";
import { answerOf, callOf, readerOf, type Answer } from "./requests.ts";
import type { World } from "./world.ts";

/** More pages than any list of a seed has. */
const MAX_PAGES = 500;

type Parameters = Readonly<Record<string, string>>;

/** Reads through the producer's handlers after the faults stop. */
export class Reader {
  readonly #dependencies: ApiContext;

  constructor(world: World) {
    this.#dependencies = readerOf(world);
  }

  async get(handle: Handler, path: string, parameters: Parameters = {}): Promise<Answer> {
    return answerOf(await handle(this.#dependencies, callOf({ path, parameters })));
  }

  /**
   * Reads the rows of a list page by page. Returns `null` if a page is not answered with 200, or if the list does not
   * end.
   */
  async list<Row>(handle: Handler, path: string, parameters: Parameters = {}): Promise<Row[] | null> {
    const rows: Row[] = [];
    let cursor: string | null = null;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const separator = path.includes("?") ? "&" : "?";
      const page: string = cursor === null ? path : `${path}${separator}cursor=${encodeURIComponent(cursor)}`;
      const { status, body } = await this.get(handle, page, parameters);
      if (status !== 200) return null;
      const data = body["data"] as Row[];
      const next = body["next_cursor"] as string | null;
      rows.push(...data);
      // A feed returns a cursor at its end, too.
      if (next === null || (data.length === 0 && next === cursor)) return rows;
      cursor = next;
    }
    return null;
  }
}
