// Finds stored sessions, and reads one as a list of what was said and done, for every form it is shown in.

import { TenonError } from "../../../base/errors.js";
import { unreachable } from "../../../base/id.js";
import { defined } from "../../../base/json/defined.js";
import { type ContentBlock, plainText } from "../../../base/text/content.js";
import { tenonPaths } from "../../../config/index.js";
import type { TurnEvent } from "../../../engine/index.js";
import { listSessions, type SessionEvent, type SessionSummary, StoredSessions } from "../../../session/index.js";
import type { ToolOutcome } from "../../../tools/index.js";
import type { CommandContext } from "../../context.js";

export function storedSessions({ world }: CommandContext): StoredSessions {
  return new StoredSessions(world, tenonPaths(world.env).stateDir);
}

export async function allSessions(context: CommandContext, cwd?: string): Promise<readonly SessionSummary[]> {
  const { folder } = storedSessions(context);
  const sessions: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await listSessions(context.world, folder, defined({ cwd, cursor }));
    sessions.push(...page.sessions);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return sessions;
}

/** By its id or the beginning of it. Throws `session.not_found`, or `usage.invalid` where several begin so. */
export async function sessionLike(text: string, context: CommandContext): Promise<SessionSummary> {
  const found = (await allSessions(context)).filter(({ id }) => id.startsWith(text));
  const exact = found.find(({ id }) => id === text) ?? found[0];
  if (!exact) {
    const hint = "See tenon sessions list --all.";
    throw new TenonError("session.not_found", `there is no session ${JSON.stringify(text)}`, { hint });
  }
  if (exact.id !== text && found.length > 1) {
    const ids = found.slice(0, 5).map(({ id }) => id);
    const hint = `One of: ${ids.join(", ")}${found.length > 5 ? ", …" : ""}`;
    throw new TenonError("usage.invalid", `${found.length} sessions begin with ${JSON.stringify(text)}`, { hint });
  }
  return exact;
}

export type ConversationItem =
  | { readonly kind: "prompt" | "answer" | "thought" | "note"; readonly text: string }
  | CallItem;

interface CallItem {
  readonly kind: "call";
  readonly tool: string;
  readonly arguments: string;
  readonly outcome: ToolOutcome["kind"] | "dropped" | "open";
  readonly text: string;
}

export interface StoredConversation {
  readonly session: SessionSummary;
  readonly items: readonly ConversationItem[];
  /** Faults of its journal. */
  readonly problems: readonly string[];
}

/** Reads only: a session that is open elsewhere can be read too. */
export async function readConversation(text: string, context: CommandContext): Promise<StoredConversation> {
  const session = await sessionLike(text, context);
  const { history, problems } = await storedSessions(context).read(session.id);
  return { session, items: itemsOf(history.events()), problems };
}

export function conversationJson({ session, items, problems }: StoredConversation): object {
  return { ...sessionJson(session), items, problems };
}

export function sessionJson({ id, title, cwd, updatedMs }: SessionSummary): object {
  return { id, title, cwd, updated: new Date(updatedMs).toISOString() };
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

export function itemsOf(events: Iterable<SessionEvent>): readonly ConversationItem[] {
  const items: ConversationItem[] = [];
  const calls = new Map<string, CallItem & { readonly at: number }>();
  const end = (id: string, outcome: CallItem["outcome"], text: string) => {
    const call = calls.get(id);
    if (!call) return;
    const { at, ...item } = call;
    items[at] = { ...item, outcome, text };
  };
  const addTurnEvent = (event: TurnEvent) => {
    switch (event.kind) {
      case "text":
        items.push({ kind: "answer", text: event.text });
        break;
      case "thought":
        items.push({ kind: "thought", text: event.text });
        break;
      case "call_started": {
        const { name, tool } = event.subject;
        const given = JSON.stringify(event.arguments, undefined, 2);
        const call = { kind: "call", tool: tool?.label ?? name, arguments: given, outcome: "open", text: "" } as const;
        calls.set(event.toolCallId, { ...call, at: items.length });
        items.push(call);
        break;
      }
      case "call_ended":
        end(event.toolCallId, event.outcome.kind, outcomeText(event.outcome));
        break;
      case "call_dropped":
        end(event.toolCallId, "dropped", event.reason);
        break;
      case "stopped":
        items.push({ kind: "note", text: event.reason });
        break;
      case "compaction":
        if (event.phase === "done") items.push({ kind: "note", text: "The conversation was compacted here." });
        break;
      default:
        break; // of no use to a later reader
    }
  };
  for (const event of events) {
    if (event.kind === "user") items.push({ kind: "prompt", text: contentText(event.content) });
    else if (event.kind === "turn") addTurnEvent(event.event);
    else if (event.kind === "turn_ended" && "error" in event) items.push({ kind: "note", text: event.error.message });
  }
  return items;
}

function outcomeText(outcome: ToolOutcome): string {
  switch (outcome.kind) {
    case "done":
    case "failed":
      return contentText(outcome.content);
    case "refused":
    case "unknown":
      return outcome.reason;
    case "cancelled":
      return "";
    default:
      return unreachable(outcome);
  }
}

function contentText(content: readonly ContentBlock[]): string {
  const others = content.filter(({ type }) => type !== "text").map(({ type }) => `[${type}]`);
  return [plainText(content), ...others].filter((text) => text !== "").join("\n");
}
