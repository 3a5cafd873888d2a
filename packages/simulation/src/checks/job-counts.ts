import { isOpen, type Job, type Version, type VersionKey } from "./state.ts";

/**
 * Returns the flaw in an open job's counts, or `null`. Each count must be the sum over the documents in its list. A
 * document deleted since the list was written may or may not be counted.
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
      return `${row.id} has ${name} ${row[name]}, but its documents add up to ${least === most ? most : `${least} to ${most}`}`;
  }
  return null;
}
