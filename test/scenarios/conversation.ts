// A conversation as a client has it, turn by turn: adjacent chunks joined, each call one card. For comparing one with its replay.
import { isDeepStrictEqual } from "node:util";
import type { SessionUpdate } from "@agentclientprotocol/sdk";

type Words = "agent_message_chunk" | "agent_thought_chunk";

export type Item =
  | { readonly kind: "words"; readonly of: Words; text: string }
  | { readonly kind: "card"; readonly id: string; readonly card: Record<string, unknown> }
  | { readonly kind: "other"; readonly update: SessionUpdate };

/** What is about the session, not of the conversation. */
const BESIDE: ReadonlySet<SessionUpdate["sessionUpdate"]> = new Set([
  "notice",
  "available_commands_update",
  "session_info_update",
  "current_mode_update",
  "config_option_update",
] as const);

/** The turns of a replay begin with what the person said. */
export function replayedTurns(updates: readonly SessionUpdate[]): { prompt: string; items: Item[] }[] {
  const turns: { prompt: string; updates: SessionUpdate[] }[] = [];
  let isPrompt = false;
  for (const update of updates) {
    if (update.sessionUpdate === "user_message_chunk") {
      const text = update.content.type === "text" ? update.content.text : update.content.type;
      const last = turns.at(-1);
      if (isPrompt && last) last.prompt += text;
      else turns.push({ prompt: text, updates: [] });
      isPrompt = true;
    } else if (!BESIDE.has(update.sessionUpdate)) {
      turns.at(-1)?.updates.push(update);
      isPrompt = false;
    }
  }
  return turns.map(({ prompt, updates: own }) => ({ prompt, items: itemsOf(own) }));
}

export function itemsOf(updates: readonly SessionUpdate[]): Item[] {
  const items: Item[] = [];
  const cards = new Map<string, Record<string, unknown>>();
  for (const update of updates) {
    if (BESIDE.has(update.sessionUpdate)) continue;
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
      case "agent_thought_chunk":
        say(items, update.sessionUpdate, update.content.type === "text" ? update.content.text : "");
        break;
      case "tool_call":
      case "tool_call_update": {
        const { sessionUpdate: _, toolCallId, ...fields } = update;
        const known = cards.get(toolCallId);
        const card = known ?? {};
        Object.assign(card, fields);
        if (known) break;
        cards.set(toolCallId, card);
        items.push({ kind: "card", id: toolCallId, card });
        break;
      }
      default:
        items.push({ kind: "other", update });
    }
  }
  return items;
}

function say(items: Item[], of: Words, text: string): void {
  const last = items.at(-1);
  if (last?.kind === "words" && last.of === of) last.text += text;
  else items.push({ kind: "words", of, text });
}

/** What the client had read and the replay has not, or has differently. */
export function missingIn(replayed: readonly Item[], read: readonly Item[]): string[] {
  return read.flatMap((item, index) => {
    const other = replayed[index];
    const isLast = index === read.length - 1;
    return other && isSame(item, other, isLast)
      ? []
      : [`item ${index}: ${JSON.stringify(item)} was read, ${JSON.stringify(other)} is replayed`];
  });
}

function isSame(read: Item, replayed: Item, isLast: boolean): boolean {
  if (read.kind === "words") {
    if (replayed.kind !== "words" || replayed.of !== read.of) return false;
    return isLast ? replayed.text.startsWith(read.text) : replayed.text === read.text;
  }
  if (read.kind === "card") {
    if (replayed.kind !== "card" || replayed.id !== read.id) return false;
    const isOver = read.card["status"] === "completed" || read.card["status"] === "failed";
    return isOver ? isDeepStrictEqual(read.card, replayed.card) : hasEnded(read.card, replayed.card);
  }
  return isDeepStrictEqual(read, replayed);
}

/** It was under way: it has an end by now, and is the same call. */
function hasEnded(read: Record<string, unknown>, replayed: Record<string, unknown>): boolean {
  const isEnd = replayed["status"] === "completed" || replayed["status"] === "failed";
  const same = ["title", "kind", "rawInput"].every(
    (name) => read[name] === undefined || isDeepStrictEqual(read[name], replayed[name]),
  );
  return isEnd && same;
}
