import * as z from "zod";
import * as answers from "../shapes/answers.ts";
import { collectionSchema, deletionSchema } from "../shapes/collection.ts";
import { documentOutSchema } from "../shapes/document.ts";
import { jobSchema } from "../shapes/job.ts";
import { malformedMessageSchema } from "../shapes/malformed.ts";
import { healthSchema, readinessSchema } from "../shapes/health.ts";
import { metricsSchema } from "../shapes/metrics.ts";
import { pauseBody, pauseSchema, resumeBody } from "../shapes/pause.ts";
import { acceptedSchema } from "../shapes/push.ts";
import { statsSchema } from "../shapes/stats.ts";
import { countsSchema, submissionSchema } from "../shapes/submission.ts";
import { waitingSchema } from "../shapes/time.ts";

export type JsonSchema = Record<string, unknown>;

/** Schemas that the document refers to by name: those of answers, and those of bodies. */
const OUT: Readonly<Record<string, z.ZodType>> = {
  Submission: submissionSchema,
  Counts: countsSchema,
  Document: documentOutSchema,
  Waiting: waitingSchema,
  Job: jobSchema,
  Pause: pauseSchema,
  Stats: statsSchema,
  Metrics: metricsSchema,
  Health: healthSchema,
  Readiness: readinessSchema,
  Accepted: acceptedSchema,
  Collection: collectionSchema,
  Deletion: deletionSchema,
  Retried: answers.retriedSchema,
  Deleted: answers.deletedSchema,
  Replayed: answers.replayedSchema,
  MalformedMessage: malformedMessageSchema,
  MalformedPage: answers.malformedPageSchema,
  SubmissionPage: answers.submissionPageSchema,
  DocumentPage: answers.documentPageSchema,
  DocumentList: answers.documentListSchema,
  JobPage: answers.jobPageSchema,
  PauseList: answers.pauseListSchema,
  Resumed: answers.resumedSchema,
  Problem: answers.problemSchema,
};
const IN: Readonly<Record<string, z.ZodType>> = {
  DocumentIn: answers.documentInSchema,
  PushBody: answers.pushBodySchema,
  PauseBody: pauseBody,
  ResumeBody: resumeBody,
};

/** Removes limits and patterns that every JSON number or RFC 3339 time has. */
function simplify({ jsonSchema: json }: { readonly jsonSchema: Record<string, unknown> }): void {
  if (json["format"] === "date-time") delete json["pattern"];
  if (json["maximum"] === Number.MAX_SAFE_INTEGER) delete json["maximum"];
  if (json["minimum"] === Number.MIN_SAFE_INTEGER) delete json["minimum"];
}

const SETTINGS = { target: "draft-2020-12", unrepresentable: "any", override: simplify } as const;

function convert(named: Readonly<Record<string, z.ZodType>>, io: "input" | "output"): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { ...SETTINGS, io, uri: (id) => `#/components/schemas/${id}` });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutFrame(schema as JsonSchema)]));
}

/** A schema without its address and dialect: the document has both. */
function withoutFrame({ $schema: _schema, $id: _id, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

/** `components.schemas`. */
export function componentSchemas(): Record<string, JsonSchema> {
  return { ...convert(OUT, "output"), ...convert(IN, "input") };
}

/** A reference to a schema of `components`. */
export function refTo(schema: z.ZodType): JsonSchema {
  const found = [...Object.entries(OUT), ...Object.entries(IN)].find(([, one]) => one === schema);
  if (found === undefined) throw new Error("a route's schema has no name in the OpenAPI document");
  return { $ref: `#/components/schemas/${found[0]}` };
}

/** A query parameter's schema: `parameter` of its metadata if its form as text says less. */
export function parameterSchema(schema: z.ZodType): {
  readonly schema: JsonSchema;
  readonly description: string | null;
} {
  const json = withoutFrame(z.toJSONSchema(schema, { ...SETTINGS, io: "input" }) as JsonSchema);
  const { parameter, description, ...rest } = json;
  return {
    schema: (parameter as JsonSchema | undefined) ?? rest,
    description: typeof description === "string" ? description : null,
  };
}
