import * as z from "zod";
import { databaseSchema } from "./database.ts";

export const healthSchema = z.strictObject({ status: z.literal("ok") });
export type HealthShape = z.infer<typeof healthSchema>;

export const readinessSchema = z.strictObject({ status: z.literal("ok"), database: databaseSchema });
export type ReadinessShape = z.infer<typeof readinessSchema>;

export const HEALTHY: HealthShape = { status: "ok" };
