// What a session asks of its client, over one connection: permission and trust, files, terminals, questions, its servers.

import type { AgentContext } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import type { SessionPorts } from "../session/index.js";
import { askPerson } from "./ask-person.js";
import { clientFiles } from "./client-files.js";
import { clientTerminal } from "./client-terminal.js";
import { elicitationPorts } from "./elicitation.js";
import type { McpMessages } from "./mcp-channel.js";
import { permissionPorts } from "./permission.js";
import type { ClientAbilities } from "./to-client/index.js";

export interface PortsOf {
  readonly sessionId: string;
  readonly abilities: ClientAbilities;
  readonly messages: McpMessages;
  readonly world: Pick<World, "after">;
}

export function sessionPorts(client: AgentContext, { sessionId, abilities, messages, world }: PortsOf): SessionPorts {
  return {
    ...permissionPorts(client, sessionId),
    ...elicitationPorts(client, sessionId, abilities),
    mcpChannel: messages.channel(client),
    askPerson: askPerson(client, sessionId, abilities),
    fs: clientFiles(client, sessionId, abilities),
    ...defined({ terminal: abilities.terminal ? clientTerminal(client, sessionId, world) : undefined }),
  };
}
