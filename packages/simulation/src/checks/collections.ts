import { MAX_COUNTED_VERSIONS } from "@sluice/producer/src/shapes/collection.ts";
import type { Reader } from "../world/reader.ts";
import { handlerOf } from "../world/handlers.ts";
import type { Version } from "./state.ts";

const getCollection = handlerOf("getCollection");

/** Checks the counts of each collection that has documents: of the first versions by id. */
export async function collectionsFlaw(reader: Reader, versions: readonly Version[]): Promise<string | null> {
  for (const [collection, list] of Map.groupBy(versions, (version) => version.collection)) {
    // The ids of a seed are ASCII, so strings compare as D1 compares their bytes.
    const byKey = (a: Version, b: Version) =>
      a.document === b.document ? compare(a.submission, b.submission) : compare(a.document, b.document);
    const counted = list.toSorted(byKey).slice(0, MAX_COUNTED_VERSIONS);
    const newest = [...new Map(counted.map((version) => [version.document, version])).values()];
    const of = (status: string) => newest.filter(({ outcome }) => outcome?.status === status).length;
    const [succeeded, failed, canceled] = [of("succeeded"), of("failed"), of("canceled")];
    const counts = { total: newest.length, processing: 0, succeeded, failed, canceled };
    const { body } = await reader.get(getCollection, `/v1/collections/${collection}`, { collection });
    const shown = JSON.stringify([body["counts"], body["counted_all"]]);
    const expected = JSON.stringify([counts, list.length < MAX_COUNTED_VERSIONS]);
    if (shown !== expected) return `the collection ${collection} is counted as ${shown}, expected ${expected}`;
  }
  return null;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
