import * as z from "zod";

export const healthSchema = z.strictObject({ status: z.literal("ok") });
export type HealthShape = z.infer<typeof healthSchema>;

export const HEALTHY: HealthShape = { status: "ok" };
