// Where a session's servers stand, as Tenon's own extension of the protocol reports it.
import * as z from "zod/v4";

export const STATUS_METHOD = "_tenon/mcp/status";

const toolReport = z.object({ name: z.string(), title: z.string().optional(), description: z.string().default("") });

const serverReport = z.object({
  name: z.string(),
  state: z.enum(["connecting", "ready", "failed", "closed"]),
  toolCount: z.number().int().nonnegative(),
  error: z.string().optional(),
  hint: z.string().optional(),
  connectMs: z.number().nonnegative().optional(),
  tools: z.array(toolReport).default([]),
});

const statusResponse = z.object({ servers: z.array(serverReport) });

export type ServerReport = z.infer<typeof serverReport>;

export function readStatus(response: unknown): readonly ServerReport[] {
  return statusResponse.parse(response).servers;
}
