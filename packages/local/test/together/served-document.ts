import * as z from "zod";

interface ServedContent {
  readonly [type: string]: { readonly schema: Record<string, unknown> };
}

interface ServedOperation {
  readonly operationId: string;
  readonly description?: string;
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly headers?: Readonly<Record<string, unknown>>;
        /** Absent if the response has no body. */
        readonly content?: ServedContent;
      }
    >
  >;
}

/** The parts of an OpenAPI document that are checked here. */
export interface ServedDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ServedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

/** The possible answers of an operation with one status. */
export interface ServedResponse {
  readonly operationId: string;
  readonly method: string;
  /** With parameters as `{name}`. */
  readonly path: string;
  /** The scope that a key needs, if any. */
  readonly scope: string | null;
  readonly status: number;
  /** The possible problems; none if the request succeeds. */
  readonly problems: readonly string[];
  /** In lower case. */
  readonly headers: readonly string[];
  /** Parsers for bodies by content type. */
  readonly content: Readonly<Record<string, z.ZodType>>;
}

/** Every response that the document lists. */
export function responsesOf({ paths, components }: ServedDocument): ServedResponse[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { operationId, description = "", responses }]) =>
      Object.entries(responses).map(([status, answer]) => ({
        operationId,
        method: method.toUpperCase(),
        path,
        scope: /scope `(\w+)`/.exec(description)?.[1] ?? null,
        status: Number(status),
        problems: [...answer.description.matchAll(/`\/problems\/([\w-]+)`/g)].map(([, name = ""]) => name),
        headers: Object.keys(answer.headers ?? {}).map((name) => name.toLowerCase()),
        content: Object.fromEntries(
          Object.entries(answer.content ?? {}).map(([type, { schema }]) => [
            type,
            parserOf(schema, components.schemas),
          ]),
        ),
      })),
    ),
  );
}

/** Turns a schema of the document into a parser, using only the document. */
function parserOf(schema: unknown, components: Readonly<Record<string, unknown>>): z.ZodType {
  const text = JSON.stringify({ ...(schema as object), $defs: components });
  return z.fromJSONSchema(
    JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")) as z.core.JSONSchema.JSONSchema,
  );
}
