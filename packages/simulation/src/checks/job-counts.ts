import { isOpen, type Job, type Version, type VersionKey } from "./state.ts";

/**
 * What is wrong with what an open job counts of its documents, or `null`: each count is the sum over the documents in
 * its list. One that was deleted since the list was written may be counted or not.
 */
export function jobCountsFlaw({ row, list }: Job, versionOf: (key: VersionKey) => Version | null): string | null {
  if (!isOpen(row.status)) return null;
  const versions = list.map(versionOf).filter((version) => version !== null);
  for (const [name, weight] of [
    ["document_count", () => 1],
    ["context_count", ({ content }) => content.contexts.length],
    ["payload_bytes", ({ payloadBytes }) => payloadBytes],
  ] as const satisfies readonly (readonly [string, (version: Version) => number])[]) {
    const sum = (some: readonly Version[]) => some.reduce((total, version) => total + weight(version), 0);
    const [least, most] = [sum(versions.filter(({ deleted }) => !deleted)), sum(versions)];
    if (row[name] < least || row[name] > most)
      return `${row.id} has ${row[name]} as its ${name}, its documents add up to ${least === most ? most : `${least} to ${most}`}`;
  }
  return null;
}
