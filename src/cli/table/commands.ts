// The one table of all commands. It is light: nothing of a command is loaded before it runs.
import { REPLAY } from "../replay/commands.js";
import { ACP, ACP_CHECK, CHAT } from "./agent.js";
import type { TableEntry } from "./command.js";
import { COMPLETION, DOCTOR, MODELS, SETUP } from "./machine.js";
import { MCP } from "./mcp.js";
import { SESSIONS } from "./sessions.js";
import { SECRET, TRUST } from "./trust.js";

export const TABLE: readonly TableEntry[] = [
  ACP,
  CHAT,
  SETUP,
  DOCTOR,
  MCP,
  TRUST,
  SECRET,
  MODELS,
  SESSIONS,
  COMPLETION,
  ACP_CHECK,
  REPLAY,
];
