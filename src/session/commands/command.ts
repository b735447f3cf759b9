// A slash command of a session: answered by Tenon itself, in Markdown, in any editor and in the terminal chat.

import type { ServerSpec } from "../../mcp/index.js";
import type { ModelUsage } from "../../models/index.js";
import type { CommandInfo, ServerStatus } from "../event.js";
import type { SessionLogins } from "../login/session-logins.js";
import type { Switched } from "../server-switches.js";
import type { SessionSettings } from "../settings.js";
import type { ToolControls } from "../tools/tool-controls.js";
import type { PermissionControls } from "./permissions.js";

/** What can be done about the servers of this session; nothing of it is written anywhere. */
export interface ServerControls {
  restart(name: string): Promise<Switched>;
  enable(name: string): Switched;
  disable(name: string): Switched;
  add(spec: ServerSpec): Promise<Switched>;
  remove(name: string): Promise<Switched>;
}

/** What commands may look at and change. */
export interface CommandContext {
  readonly tools: ToolControls;
  /** Where every server stands now. */
  servers(): readonly ServerStatus[];
  /** Waits, within a bound, until no server is connecting any more. */
  settled(): Promise<void>;
  readonly mcp: ServerControls;
  readonly permissions: PermissionControls;
  readonly logins: Pick<SessionLogins, "login">;
  /** Shows something before the answer that is for this moment: it is not kept with the conversation. */
  show(text: string): Promise<void>;
  readonly settings: Pick<SessionSettings, "view" | "set" | "available">;
  /** Every command there is now, those of servers included. */
  readonly commands: readonly CommandInfo[];
  /** Of the session so far. */
  readonly usage: ModelUsage;
  /** Shortens the conversation; what came of it is told by its own events. */
  readonly compact: () => Promise<void>;
  readonly signal: AbortSignal;
}

export interface Command extends CommandInfo {
  /** The answer, in Markdown; empty when everything was said by other means. Rejects only for a bug. */
  run(words: string, context: CommandContext): Promise<string>;
}
