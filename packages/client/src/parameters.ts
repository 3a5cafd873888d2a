import { queryString } from "./call.ts";
import type { DocumentOptions, PauseTarget } from "./options.ts";
import type { PauseBody } from "./types.ts";

/** Maximum documents in a request. */
const MAX_IDS = 100;
/**
 * Maximum characters of ids in a URL: the whole URL stays below the 8,000 octets that RFC 9110 asks every server to
 * support.
 */
const MAX_ID_CHARACTERS = 6_000;

export function collectionPath(collection: string): string {
  return `/v1/collections/${encodeURIComponent(collection)}`;
}

export function documentsPath(collection: string): string {
  return `${collectionPath(collection)}/documents`;
}

export function view({ topK, include }: DocumentOptions): {
  readonly top_k: number | undefined;
  readonly include: string | undefined;
} {
  return { top_k: topK, include: include === undefined || include.length === 0 ? undefined : include.join(",") };
}

export function toTime(time: Date | string | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

export function pauseBody(target: PauseTarget): PauseBody {
  return {
    ...(target.model !== undefined && { model: target.model }),
    ...(target.submission !== undefined && { submission: target.submission }),
  };
}

/** Groups ids so that each group fits in a request. */
export function cutIds(ids: readonly string[]): string[][] {
  const cuts: string[][] = [];
  let characters = 0;
  for (const id of ids) {
    const length = queryString({ id }).length;
    const last = cuts.at(-1);
    if (last === undefined || last.length >= MAX_IDS || characters + length > MAX_ID_CHARACTERS) {
      cuts.push([id]);
      characters = length;
    } else {
      last.push(id);
      characters += length;
    }
  }
  return cuts;
}
