// A session's slash commands as clients show them in their menus.

import type { AvailableCommand, SessionUpdate } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import type { CommandInfo } from "../session/index.js";

export function commandsUpdate(commands: readonly CommandInfo[]): SessionUpdate {
  return {
    sessionUpdate: "available_commands_update",
    availableCommands: commands.map(({ name, description, input }): AvailableCommand => {
      return { name, description, ...defined({ input: input === undefined ? undefined : { hint: input } }) };
    }),
  };
}
