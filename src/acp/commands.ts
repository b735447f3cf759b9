// A session's slash commands as clients show them in their menus.
import type { AvailableCommand, SessionUpdate } from "@agentclientprotocol/sdk";
import type { CommandInfo } from "../session/index.js";

export function commandsUpdate(commands: readonly CommandInfo[]): SessionUpdate {
  return {
    sessionUpdate: "available_commands_update",
    availableCommands: commands.map(({ name, description, input }): AvailableCommand => {
      return { name, description, ...(input === undefined ? {} : { input: { hint: input } }) };
    }),
  };
}
