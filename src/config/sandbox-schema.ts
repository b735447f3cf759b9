// The zod schema of `sandbox`: a word, or an object with what is granted besides. Loaded with `schema.ts` only.
import * as z from "zod/v4";
import { SANDBOX_MODES, type SandboxWritten } from "./entry.js";

const mode = z.enum(SANDBOX_MODES);
const path: z.ZodString = z.string().min(1);

export const sandboxSchema: z.ZodType<SandboxWritten> = z.union([
  mode,
  z.strictObject({
    mode: mode.describe(
      'What becomes of the session\'s directories: "workspace" may be written, "read-only" only read; "off" is no sandbox.',
    ),
    network: z.boolean().optional().describe("true grants the network of this machine; without it there is none."),
    read: z
      .array(path)
      .optional()
      .describe("Files and folders that may be read besides: absolute, ~/…, or relative to the session's directory."),
    write: z.array(path).optional().describe("The same for what may be written."),
  }),
]);
