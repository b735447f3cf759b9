// A slash command of a session: answered by Tenon itself, in Markdown, in any editor and in the terminal chat.

import { markForeign } from "../../base/text/marking.js";
import type { ModelUsage } from "../../models/index.js";
import type { CommandInfo } from "../events.js";
import type { SessionLogins } from "../login/session-logins.js";
import type { SessionServers } from "../servers/servers.js";
import type { SessionSettings } from "../settings.js";
import type { PermissionControls, ToolControls } from "../tools/controls.js";

/** What commands may look at and change. */
export interface CommandContext {
  readonly tools: ToolControls;
  /** The servers of this session; a change of them is written nowhere. */
  readonly servers: Pick<SessionServers, "statuses" | "settled" | "restart" | "enable" | "disable" | "add" | "remove">;
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

export function oneLine(text: string, maxChars = 200): string {
  const line = markForeign(text).replaceAll(/\s+/gu, " ").replaceAll("`", "'").trim();
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1)}…`;
}
