// A conversation that is over, as updates: what the person said included, and each call as one finished card.

import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import type { SessionEvent } from "../session/index.js";
import { toAcpBlock } from "./to-client/content.js";
import { type ClientAbilities, toUpdates } from "./to-client/index.js";

type Card = Extract<SessionUpdate, { sessionUpdate: "tool_call" }>;
type CardUpdate = Extract<SessionUpdate, { sessionUpdate: "tool_call_update" }>;

export function* replayUpdates(
  history: Iterable<SessionEvent>,
  client: ClientAbilities,
): Generator<SessionUpdate, void, void> {
  let card: Card | undefined;
  for (const event of history) {
    for (const update of updatesOf(event, client)) {
      if (card && update.sessionUpdate === "tool_call_update" && update.toolCallId === card.toolCallId) {
        card = merged(card, update);
        continue;
      }
      if (card) yield card;
      card = update.sessionUpdate === "tool_call" ? update : undefined;
      if (!card) yield update;
    }
  }
  if (card) yield card;
}

function updatesOf(event: SessionEvent, client: ClientAbilities): SessionUpdate[] {
  if (event.kind !== "user") return toUpdates(event, client);
  return event.content.map((block) => ({ sessionUpdate: "user_message_chunk", content: toAcpBlock(block) }));
}

/** As a client does it: what the update has takes the place of what was there. */
function merged(card: Card, update: CardUpdate): Card {
  const { title, kind, status, content, locations, rawInput, rawOutput } = update;
  return {
    ...card,
    ...defined({
      title: title == null ? undefined : title,
      kind: kind == null ? undefined : kind,
      status: status == null ? undefined : status,
      content: content == null ? undefined : content,
      locations: locations == null ? undefined : locations,
      rawInput,
      rawOutput,
    }),
  };
}
