import * as z from "zod";

export const scopes = ["ingest", "read", "admin"] as const;
export type Scope = (typeof scopes)[number];

const keysSchema = z
  .array(
    z.strictObject({
      name: z.string().min(1),
      sha256: z.string().regex(/^[0-9a-f]{64}$/i),
      scopes: z.array(z.enum(scopes)),
      collections: z.array(z.string().min(1)).optional(),
    }),
  )
  .min(1);

/** A key that may be used, known by its SHA-256 only. */
export interface ApiKey {
  readonly name: string;
  readonly sha256: Uint8Array;
  readonly scopes: readonly Scope[];
  /** `null`: all of them. */
  readonly collections: readonly string[] | null;
}

/** Parses the secret `SLUICE_API_KEYS`; none where it is missing or not what it should be. */
export function parseKeys(text: string | undefined): ApiKey[] {
  let value: unknown;
  try {
    value = JSON.parse(text ?? "");
  } catch {
    return [];
  }
  const parsed = keysSchema.safeParse(value);
  if (!parsed.success) return [];
  return parsed.data.map((key) => ({
    name: key.name,
    sha256: fromHex(key.sha256),
    scopes: key.scopes,
    collections: key.collections ?? null,
  }));
}

/**
 * The key that an `Authorization` header presents, or `null`. No key, a malformed one and a wrong one
 * take the same way, and every configured key is compared: time tells nothing about any of them.
 */
export async function findKey(keys: readonly ApiKey[], authorization: string | null): Promise<ApiKey | null> {
  const presented = /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? "")?.[1] ?? "";
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(presented)));
  let found: ApiKey | null = null;
  for (const key of keys) {
    if (crypto.subtle.timingSafeEqual(digest, key.sha256)) found = key;
  }
  return presented === "" ? null : found;
}

export function allowsCollection(key: ApiKey, collection: string): boolean {
  return key.collections === null || key.collections.includes(collection);
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
}
