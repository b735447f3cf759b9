// Session events -> ACP `session/update`s. Events a client has no use for give none.
import type * as acp from "@agentclientprotocol/sdk";
import { unreachable } from "../../base/id.js";
import type { SessionEvent } from "../../session/index.js";
import { commandsUpdate } from "../commands.js";
import type { ClientAbilities } from "./abilities.js";
import { noticeUpdates, serverUpdates } from "./notices.js";
import { turnUpdates } from "./turn.js";

export { abilitiesOf, type ClientAbilities } from "./abilities.js";
export { looksOf, questionTitle, toolName } from "./tool-call.js";
export { type PromptAnswer, usageOf } from "./usage.js";

export function toUpdates(event: SessionEvent, client: ClientAbilities): acp.SessionUpdate[] {
  switch (event.kind) {
    case "user": // the client sent it
    case "turn_ended": // the answer to the prompt says it
      return [];
    case "turn":
      return turnUpdates(event.event, {
        client,
        presentation: event.presentation,
        costUsd: event.sessionUsage?.costUsd,
      });
    case "plan":
      return [{ sessionUpdate: "plan", entries: event.entries.map((entry) => ({ ...entry })) }];
    case "server":
      return serverUpdates(event.status, client);
    case "settings": // of these only changes are told, by whoever knows what was told before
      return [];
    case "commands":
      return [commandsUpdate(event.commands)];
    case "title":
      return [{ sessionUpdate: "session_info_update", title: event.title }];
    case "notice":
      return noticeUpdates(event.level, event.text, client);
    default:
      return unreachable(event);
  }
}
