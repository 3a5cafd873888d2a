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

/** A configured key. Only its SHA-256 is known. */
export interface ApiKey {
  readonly name: string;
  readonly sha256: Uint8Array;
  readonly scopes: readonly Scope[];
  /** `null`: all of them. */
  readonly collections: readonly string[] | null;
}

/** Parses the secret `SLUICE_API_KEYS`; no key if it is missing or not valid. */
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
 * The key in an `Authorization` header, or `null`. A missing, a malformed and a wrong key take the same path, and every
 * configured key is compared, so that timing reveals nothing.
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
