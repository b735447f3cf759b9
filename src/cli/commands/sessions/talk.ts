// A stored conversation as a plain list of what was said and done, for every form it is shown in.
import { unreachable } from "../../../base/brand.js";
import { type ContentBlock, plainText } from "../../../base/text/content.js";
import type { TurnEvent } from "../../../engine/index.js";
import type { SessionEvent, SessionSummary } from "../../../session/index.js";
import type { ToolOutcome } from "../../../tools/index.js";
import type { CommandContext } from "../../context.js";
import { sessionLike, storedSessions } from "./sessions.js";

export type TalkItem =
  | { readonly kind: "prompt" | "answer" | "thought" | "note"; readonly text: string }
  | {
      readonly kind: "call";
      readonly tool: string;
      readonly arguments: string;
      readonly outcome: ToolOutcome["kind"] | "dropped" | "open";
      readonly text: string;
    };

export interface Talk {
  readonly session: SessionSummary;
  readonly items: readonly TalkItem[];
  /** What is wrong with its journal. */
  readonly problems: readonly string[];
}

/** Reads only: a session that is open elsewhere can be looked at too. */
export async function readTalk(text: string, context: CommandContext): Promise<Talk> {
  const session = await sessionLike(text, context);
  const { history, problems } = await storedSessions(context).read(session.id);
  return { session, items: itemsOf(history.events()), problems };
}

interface OpenCall {
  readonly at: number;
  readonly tool: string;
  readonly arguments: string;
}

export function itemsOf(events: Iterable<SessionEvent>): readonly TalkItem[] {
  const items: TalkItem[] = [];
  const calls = new Map<string, OpenCall>();
  const end = (id: string, outcome: Extract<TalkItem, { kind: "call" }>["outcome"], text: string) => {
    const call = calls.get(id);
    if (call) items[call.at] = { kind: "call", tool: call.tool, arguments: call.arguments, outcome, text };
  };
  const turn = (event: TurnEvent) => {
    switch (event.kind) {
      case "text":
        items.push({ kind: "answer", text: event.text });
        break;
      case "thought":
        items.push({ kind: "thought", text: event.text });
        break;
      case "call_started": {
        const { name, tool } = event.subject;
        const shown = tool ? tool.label : name;
        const given = JSON.stringify(event.arguments, undefined, 2);
        calls.set(event.toolCallId, { at: items.length, tool: shown, arguments: given });
        items.push({ kind: "call", tool: shown, arguments: given, outcome: "open", text: "" });
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
        break; // of no use to whoever reads it later
    }
  };
  for (const event of events) {
    if (event.kind === "user") items.push({ kind: "prompt", text: contentText(event.content) });
    else if (event.kind === "turn") turn(event.event);
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
