// What a chat remembers of its session beside what it shows: commands there are, figures for the status, files that changed, the last answer.
import type { SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import type { Candidate } from "../terminal/live/completion.js";
import type { PromptAnswer } from "./session.js";
import type { ChatStatus } from "./status.js";

/** A change of a file that a call made, for /diff and /undo. */
export interface FileChange {
  readonly path: string;
  /** Undefined for a file that was not there. */
  readonly oldText: string | undefined;
  readonly newText: string;
}

export class ChatRecord {
  readonly status: ChatStatus;
  /** Of the agent and its servers' prompts; undefined before it told them. */
  commands: readonly Candidate[] | undefined;
  /** Files that were changed, by turn. */
  readonly changes: FileChange[][] = [];
  /** Of the turn that runs, else of the last one. */
  answer = "";
  usage: PromptAnswer["usage"] | undefined;
  sessionId: string | undefined;
  /** Prompts of this chat that were answered, however. */
  promptCount = 0;
  /** What the person ran with `!` since the last prompt. */
  readonly shellNotes: string[] = [];
  /** Stops what runs now. */
  stop: (() => void) | undefined;
  readonly #contents = new Map<string, readonly ToolCallContent[]>();
  /** Titles, by server. */
  readonly #notices = new Map<string, string>();

  constructor(status: ChatStatus) {
    this.status = status;
  }

  turnStarted(): void {
    this.changes.push([]);
    this.answer = "";
  }

  turnEnded(usage: PromptAnswer["usage"]): void {
    this.usage = usage;
    this.status.tokens = usage.totalTokens;
  }

  /** Whether a notice about servers is the same as the last one about each of them: attempts to connect repeat themselves. */
  isRepeated(title: string, servers: readonly string[]): boolean {
    const isKnown = servers.length > 0 && servers.every((name) => this.#notices.get(name) === title);
    for (const name of servers) this.#notices.set(name, title);
    return isKnown;
  }

  /** Another session. */
  reset(): void {
    this.changes.length = 0;
    this.#contents.clear();
    this.#notices.clear();
    [this.commands, this.answer, this.usage] = [undefined, "", undefined];
    this.status.reset();
  }

  hear(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case "user_message_chunk": // of the conversation so far, or of another client
        this.turnStarted();
        break;
      case "agent_message_chunk":
        if (update.content.type === "text") this.answer += update.content.text;
        break;
      case "tool_call":
      case "tool_call_update":
        this.#call(update);
        break;
      case "usage_update":
        this.status.context = { used: update.used, size: update.size };
        if (update.cost?.currency === "USD") this.status.costUsd = update.cost.amount;
        break;
      case "current_mode_update":
        this.status.mode = update.currentModeId;
        break;
      case "config_option_update":
        this.status.choose({ configOptions: update.configOptions });
        break;
      case "available_commands_update":
        this.commands = update.availableCommands.map(({ name, description }) => ({
          text: `/${name}`,
          note: description,
        }));
        break;
      default:
        break;
    }
  }

  #call({
    toolCallId,
    status,
    content,
  }: {
    readonly toolCallId: string;
    readonly status?: string | null;
    readonly content?: readonly ToolCallContent[] | null;
  }): void {
    if (content) this.#contents.set(toolCallId, content);
    if (status !== "completed" && status !== "failed") return;
    const whole = this.#contents.get(toolCallId) ?? [];
    this.#contents.delete(toolCallId);
    if (status === "failed") return;
    if (this.changes.length === 0) this.changes.push([]);
    for (const part of whole) {
      if (part.type !== "diff") continue;
      const { path, oldText, newText } = part;
      this.changes.at(-1)?.push({ path, oldText: oldText ?? undefined, newText });
    }
  }
}
