// Session events -> ACP `session/update`s. Events a client has no use for give none.
import type * as acp from "@agentclientprotocol/sdk";
import { unreachable } from "../base/id.js";
import { defined } from "../base/json/defined.js";
import { hashJson } from "../base/json/json.js";
import { text } from "../base/text/content.js";
import { markForeign } from "../base/text/marking.js";
import type { CompactionEvent, TurnEvent } from "../engine/index.js";
import type { ServerStatus, SessionEvent, SessionInfo } from "../session/index.js";
import type { ClientAbilities } from "./capabilities.js";
import { ACP_LIMITS } from "./limits.js";
import { sentMeta, sharedMeta } from "./meta.js";
import { endUpdate, looksOf, progressUpdate, startUpdate, toolContent } from "./tool-call.js";

export function toUpdates(event: SessionEvent, client: ClientAbilities): acp.SessionUpdate[] {
  switch (event.kind) {
    case "user": // the client sent it
    case "turn_ended": // the answer to the prompt says it
      return [];
    case "turn":
      return turnUpdates(event, client);
    case "plan":
      return [{ sessionUpdate: "plan", entries: event.entries.map((entry) => ({ ...entry })) }];
    case "server":
      return serverUpdates(event.status, client).map((update) => {
        return { ...update, _meta: sentMeta({ mcp: { servers: [event.status] } }) };
      });
    case "session_info":
      return [{ sessionUpdate: "session_info_update", _meta: sharedMeta(infoOf(event)) }];
    case "settings": // only changes are sent, by `EmittedSettings`
      return [];
    case "commands":
      return [
        {
          sessionUpdate: "available_commands_update",
          availableCommands: event.commands.map(({ name, description, input }) => {
            return { name, description, ...defined({ input: input === undefined ? undefined : { hint: input } }) };
          }),
        },
      ];
    case "title":
      return [{ sessionUpdate: "session_info_update", title: event.title }];
    case "notice":
      return noticeUpdates(event.level, event.text, client);
    default:
      return unreachable(event);
  }
}

/** Of sessions that several clients share: what runs, who is there, and what became of a question. */
function infoOf({ state, promptId, by, queued, clients, question, ended }: SessionInfo): object {
  const here = clients.map(({ client, name, role }) => ({ client, name, role, isHere: true }));
  return { state, queued, clients: here, ...defined({ promptId, by, question, ended }) };
}

function turnUpdates(
  { event, presentation, sessionUsage }: Extract<SessionEvent, { kind: "turn" }>,
  client: ClientAbilities,
): acp.SessionUpdate[] {
  switch (event.kind) {
    case "text":
      return [{ sessionUpdate: "agent_message_chunk", content: text(event.text) }];
    case "thought":
      return [{ sessionUpdate: "agent_thought_chunk", content: text(event.text) }];
    case "call_arguments":
      return event.offset === 0 ? [announced(event)] : [];
    case "call_dropped": {
      const content = toolContent([text(event.reason)]);
      return [{ sessionUpdate: "tool_call_update", toolCallId: event.toolCallId, status: "failed", content }];
    }
    case "call_started":
      return [startUpdate(event, presentation, event)];
    case "call_running":
      return [{ sessionUpdate: "tool_call_update", toolCallId: event.toolCallId, status: "in_progress" }];
    case "call_progress":
      return [progressUpdate(event.toolCallId, event.progress, presentation)];
    case "call_ended":
      return [endUpdate(event.toolCallId, event.outcome, presentation)];
    case "tool_quarantined":
      return noticeUpdates("warning", `The tool ${event.tool.label} is not offered: ${event.reason}`, client);
    case "waiting": {
      const { reason, untilMs, attempt, attempts } = event;
      const words = `${reason} (attempt ${attempt} of ${attempts}; it is tried again)`;
      const _meta = sentMeta({ retry: { reason: markForeign(reason), untilMs, attempt, attempts } });
      return noticeUpdates("warning", words, client).map((update) => ({ ...update, _meta }));
    }
    case "stopped":
      return [{ sessionUpdate: "agent_message_chunk", content: text(`\n\n[${event.reason}]`) }];
    case "compaction":
      return compactionUpdates(event, client);
    case "usage":
      return usageUpdates(event, sessionUsage?.costUsd);
    case "call_awaiting_approval": // the question itself shows it
      return [];
    default:
      return unreachable(event);
  }
}

/** The card appears as soon as the model begins to write the call; its arguments follow when they are whole. */
function announced({ toolCallId, subject }: Extract<TurnEvent, { kind: "call_arguments" }>): acp.SessionUpdate {
  const { title, kind } = looksOf(subject, undefined);
  return { sessionUpdate: "tool_call", toolCallId, title, kind, status: "pending" };
}

/** The cost is the session's, as the protocol has it. */
function usageUpdates(
  { turn, context }: Extract<TurnEvent, { kind: "usage" }>,
  costUsd = turn.costUsd,
): acp.SessionUpdate[] {
  if (!context) return [];
  const cost = costUsd === undefined ? {} : { cost: { amount: costUsd, currency: "USD" } };
  return [{ sessionUpdate: "usage_update", used: context.usedTokens, size: context.sizeTokens, ...cost }];
}

const COMPACTION_STATUS = {
  started: "in_progress",
  done: "completed",
  failed: "failed",
  cancelled: "cancelled",
} as const;

function compactionUpdates(event: CompactionEvent, client: ClientAbilities): acp.SessionUpdate[] {
  const { compactionId, phase } = event;
  if (!client.compaction) return noticeUpdates("info", compactionText(event), client);
  const summary = phase === "done" && event.summary !== "" ? [text(event.summary)] : undefined;
  const error = "reason" in event ? event.reason : undefined;
  const status = COMPACTION_STATUS[phase];
  return [{ sessionUpdate: "compaction_update", compactionId, status, ...defined({ summary, error }) }];
}

function compactionText(event: CompactionEvent): string {
  switch (event.phase) {
    case "started":
      return `The conversation is getting long (${event.beforeTokens} tokens): it is being summarised.`;
    case "done":
      return `The conversation was summarised: ${event.beforeTokens} tokens became ${event.afterTokens}.`;
    case "failed":
    case "cancelled":
      return `The conversation was not summarised: ${event.reason}`;
    default:
      return unreachable(event);
  }
}

/** Where notices are not shown, warnings are calls that are over, and failures calls that failed before they could begin. */
export function noticeUpdates(
  severity: "info" | "warning" | "error",
  words: string,
  client: ClientAbilities,
): acp.SessionUpdate[] {
  const title = markForeign(words);
  if (client.notices) return [{ sessionUpdate: "notice", severity, title }];
  if (severity === "info") return [];
  const status = severity === "error" ? "failed" : "completed";
  return [noticeCall(`notice-${hashJson(title).slice(0, 12)}`, shortTitle(title), { words: title, status })];
}

/** Some clients show the title of a call and nothing else. */
function shortTitle(words: string): string {
  const line = words.replaceAll(/\s+/gu, " ");
  const { noticeTitleChars } = ACP_LIMITS;
  return line.length > noticeTitleChars ? `${line.slice(0, noticeTitleChars).trimEnd()}…` : line;
}

function noticeCall(
  toolCallId: string,
  title: string,
  { words, status }: { readonly words: string; readonly status: "completed" | "failed" },
): acp.SessionUpdate {
  const content = toolContent([text(words)]);
  return { sessionUpdate: "tool_call", toolCallId, title, kind: "other", status, content };
}

/**
 * Tells failures from between two turns once more within the next turn: some clients drop updates that belong to no prompt.
 * The call id stays, so that clients which showed it have it already. It comes after the first words of the turn: some
 * clients have nothing to show a call in before, and no message is split.
 */
export class RepeatedFailures {
  readonly #missed = new Map<string, acp.SessionUpdate>();
  #isInTurn = false;
  #hasWords = false;

  /** All that is to be sent for an event, given its own updates. */
  with(event: SessionEvent, updates: readonly acp.SessionUpdate[]): readonly acp.SessionUpdate[] {
    const isWords = event.kind === "turn" && (event.event.kind === "text" || event.event.kind === "thought");
    if (event.kind === "user") [this.#isInTurn, this.#hasWords] = [true, false];
    if (event.kind === "server") this.#missed.delete(serverCallId(event.status.name));
    const isDue = this.#isInTurn && !isWords && (this.#hasWords || event.kind === "turn_ended");
    const repeated = isDue && this.#missed.size > 0 ? [...this.#missed.values()] : [];
    if (isDue) this.#missed.clear();
    if (isWords) this.#hasWords = true;
    if (event.kind === "turn_ended") this.#isInTurn = false;
    for (const update of this.#isInTurn ? [] : updates)
      if (update.sessionUpdate === "tool_call" && update.status === "failed")
        this.#missed.set(update.toolCallId, update);
    return repeated.length === 0 ? updates : [...repeated, ...updates];
  }
}

function serverCallId(name: string): string {
  return `server-${markForeign(name)}`;
}

/** A failed server is never silent: as a notice where the client shows them, else as a failed call in the conversation. */
function serverUpdates(status: ServerStatus, client: ClientAbilities): acp.SessionUpdate[] {
  const { state, toolCount } = status;
  // A server's own words are among them.
  const [name, error] = [markForeign(status.name), markForeign(status.error ?? "unknown cause")];
  const [hint, note] = [status.hint, status.note].map((words) => (words === undefined ? words : markForeign(words)));
  const subject = `MCP server "${name}"`;
  const failure = `${subject} failed: ${error}`;
  if (!client.notices) {
    const words = hint === undefined ? failure : `${failure}\n${hint}`;
    if (state !== "failed") return [];
    return [noticeCall(serverCallId(status.name), `${name}: not connected`, { words, status: "failed" })];
  }
  const tools = toolCount === 1 ? "1 tool" : `${toolCount} tools`;
  const notice = (severity: "info" | "warning" | "error", title: string, description?: string | null) => {
    return [{ sessionUpdate: "notice", severity, title, ...defined({ description }) } as const];
  };
  switch (state) {
    case "failed":
      return notice("error", failure, hint ?? null);
    case "ready":
      return notice("info", `${subject} is ready: ${tools}`, note);
    case "idle":
      return notice("info", `${subject} starts when it is first used: ${tools}`);
    case "reconnecting":
      return notice("warning", `${subject} is not connected and is tried again: ${error}`, hint ?? null);
    case "closed":
      return notice("info", `${subject} is no longer used`);
    case "connecting":
      return [];
    default:
      return unreachable(state);
  }
}
