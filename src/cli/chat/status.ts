// Where a session's servers stand, as Tenon's own extension of the protocol reports it.
import * as z from "zod/v4";

export const STATUS_METHOD = "_tenon/mcp/status";

export interface ToolReport {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
}

export interface ServerReport {
  readonly name: string;
  readonly state: "idle" | "connecting" | "ready" | "reconnecting" | "failed" | "closed";
  readonly toolCount: number;
  readonly error?: string | undefined;
  readonly hint?: string | undefined;
  readonly note?: string | undefined;
  readonly connectMs?: number | undefined;
  readonly tools: readonly ToolReport[];
}

const statusResponse: z.ZodType<{ readonly servers: readonly ServerReport[] }> = z.object({
  servers: z.array(
    z.object({
      name: z.string(),
      state: z.enum(["idle", "connecting", "ready", "reconnecting", "failed", "closed"]),
      toolCount: z.number().int().nonnegative(),
      error: z.string().optional(),
      hint: z.string().optional(),
      note: z.string().optional(),
      connectMs: z.number().nonnegative().optional(),
      tools: z
        .array(z.object({ name: z.string(), title: z.string().optional(), description: z.string().default("") }))
        .default([]),
    }),
  ),
});

/** Throws when the answer is not what the extension promises. */
export function readStatus(response: unknown): readonly ServerReport[] {
  const read = statusResponse.safeParse(response);
  if (!read.success)
    throw new Error(`the agent's answer to ${STATUS_METHOD} is malformed: ${z.prettifyError(read.error)}`);
  return read.data.servers;
}
