// The view for people in plain mode: the answer as it streams, tool calls and notices as labelled lines around it.
import {
  type ClientApp,
  type ContentBlock,
  methods,
  type Notice,
  type SessionUpdate,
  type ToolCall,
  type ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { Screen } from "../terminal/screen.js";
import { type Clock, formatElapsed } from "../terminal/stream.js";
import { clipToWidth, displayWidth, openEndAt, visible, visibleLine } from "../terminal/text.js";
import { contentLines, describeBlock, preview, retryWords, shortArguments } from "./describe.js";
import type { LineReader } from "./line-reader.js";
import type { Pictures } from "./pictures.js";
import type { ChatRecord } from "./record.js";
import { serversIn } from "./session.js";
import { endedQuestion, readWho, type SharedTurns, tenonMeta } from "./shared.js";
import { type ChatFailure, type ChatView, STOP_TEXTS, type TurnOutcome } from "./view.js";

export interface PlainViewOptions {
  readonly screen: Screen;
  readonly reader: LineReader;
  readonly clock: Clock;
  readonly record: ChatRecord;
  readonly pictures: Pictures;
  readonly shared?: SharedTurns;
  /** Also shows what is worth knowing only while one watches: thoughts, notices that ask for nothing, and who speaks. */
  readonly isTalkative: boolean;
}

const REPORT_LINES = 10;

type Voice = "answer" | "thought";

export class PlainView implements ChatView {
  readonly #options: PlainViewOptions;
  readonly #calls: ToolCalls;
  #voice: Voice | undefined;
  /** The end of an answer as it came: while somebody types, only whole lines are shown; what joins letters needs both of them. */
  #held = "";
  #isReplay = false;
  isLeaving = false;

  constructor(options: PlainViewOptions) {
    this.#options = options;
    this.#calls = new ToolCalls(options);
    this.#isReplay = options.shared !== undefined;
  }

  listen(client: ClientApp): ClientApp {
    return client.onNotification(methods.client.session.update, ({ params }) => {
      const { reader, record } = this.#options;
      record.hear(params.update);
      if (this.#isHeld(params.update)) return;
      if (this.#isSilent(params.update)) return this.#update(params.update);
      reader.interject(() => {
        this.#update(params.update);
        reader.setPrompt(this.prompt);
      });
    });
  }

  /** Where a session is shared, it says whether a turn runs: people type all the time. */
  get prompt(): string {
    const { shared, screen } = this.#options;
    if (!shared?.isBusy) return "› ";
    const { state, other } = shared;
    const words = [other === undefined ? state : `${state} for ${visibleLine(other)}`, this.#calls.current ?? ""];
    const text = words.filter((word) => word !== "").join(" · ");
    return `${clipToWidth(text, Math.floor(screen.columns / 2))} › `;
  }

  joined(): void {
    this.#isReplay = false;
    this.#speak(undefined);
  }

  turnStarted(): void {}

  turnEnded(outcome: TurnOutcome): void {
    const { screen, shared, isTalkative } = this.#options;
    // Where a session is shared and prompts are not waited for, another turn may run already.
    if (!(shared?.isBusy && isTalkative)) this.#settle();
    if (outcome.kind === "failed") this.failed(outcome.failure);
    const stop = outcome.kind === "stopped" ? STOP_TEXTS[outcome.stopReason] : undefined;
    if (stop !== undefined) screen.line(`(${stop})`);
  }

  #settle(): void {
    this.#calls.endAll();
    this.#speak(undefined);
  }

  failed({ message, hint }: ChatFailure): void {
    this.#report(`error: ${message}`, hint);
  }

  #update(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        this.#prompted(update);
        break;
      case "session_info_update":
        this.#info(tenonMeta(update));
        break;
      case "agent_message_chunk":
        this.#stream("answer", update.content);
        break;
      case "agent_thought_chunk":
        if (this.#options.isTalkative) this.#stream("thought", update.content);
        break;
      case "tool_call":
        this.#speak(undefined);
        this.#calls.started(update, this.#isReplay);
        break;
      case "tool_call_update":
        this.#calls.updated(update);
        break;
      case "plan":
        this.#plan(update.entries);
        break;
      case "notice":
        this.#notice(update);
        break;
      default:
        break; // modes, options, usage and commands need no line of their own
    }
  }

  /** A prompt of another client, or of the conversation so far. */
  #prompted(update: Extract<SessionUpdate, { sessionUpdate: "user_message_chunk" }>): void {
    const { screen, shared, isTalkative } = this.#options;
    if (!shared && !isTalkative) return;
    this.#speak(undefined);
    const { by: sender, promptId } = tenonMeta(update);
    if (shared?.show(promptId)) this.#calls.endAll();
    const by = readWho(sender);
    const name = by && !shared?.isOwn(by) ? `${visibleLine(by.name)} ` : "";
    for (const line of describeBlock(update.content).trimEnd().split("\n")) {
      screen.line(`${name}› ${line}`);
    }
  }

  /** Of a session that other clients use too. */
  #info(meta: JsonObject): void {
    const { shared, screen } = this.#options;
    if (!shared) return;
    if (shared.hear(meta).isOver) this.#settle();
    const ended = endedQuestion(meta);
    if (ended?.by && !shared.isOwn(ended.by)) {
      const how = ended.answer === undefined ? "" : ` (${visibleLine(ended.answer)})`;
      screen.line(`· answered by ${visibleLine(ended.by.name)}${how}`);
    }
    const { ended: end } = meta;
    if (isJsonObject(end) && !shared.isOwnPrompt(end["promptId"])) this.#othersEnd(end);
  }

  /** Of a turn that another client started: the answer to its prompt says it there. */
  #othersEnd({ stopReason, error }: JsonObject): void {
    const { screen } = this.#options;
    const { message } = isJsonObject(error) ? error : {};
    if (typeof message === "string") this.failed({ message });
    const [, words] = Object.entries(STOP_TEXTS).find(([reason]) => reason === stopReason) ?? [];
    if (words !== undefined) screen.line(`(${words})`);
  }

  #stream(voice: Voice, content: ContentBlock): void {
    const { screen, reader } = this.#options;
    this.#speak(voice);
    const text = this.#held + (content.type === "text" ? content.text : `${describeBlock(content)}\n`);
    const whole = reader.isOpen ? wholeLines(text, screen.columns) : text.slice(0, openEndAt(text));
    this.#held = text.slice(whole.length);
    const lines = visible(whole);
    screen.text(lines === "" || lines.endsWith("\n") || !reader.isOpen ? lines : `${lines.trimEnd()}\n`);
  }

  /** Whether there is nothing to show of it before more has come: the line that somebody types in stays as it is. */
  #isHeld(update: SessionUpdate): boolean {
    const { reader, screen } = this.#options;
    const isAnswer = update.sessionUpdate === "agent_message_chunk" && this.#voice === "answer";
    const isThought = update.sessionUpdate === "agent_thought_chunk" && this.#voice === "thought";
    if (!reader.isOpen || !(isAnswer || isThought) || update.content.type !== "text") return false;
    const text = this.#held + update.content.text;
    if (wholeLines(text, screen.columns) !== "") return false;
    this.#held = text;
    return true;
  }

  /** Whether it prints nothing: the line that somebody types in need not be written again. A shared session says its state there. */
  #isSilent(update: SessionUpdate): boolean {
    if (this.#options.shared || this.#voice !== undefined) return false;
    switch (update.sessionUpdate) {
      case "available_commands_update":
      case "config_option_update":
      case "current_mode_update":
      case "session_info_update":
      case "usage_update":
        return true;
      case "tool_call":
      case "tool_call_update":
        return update.status !== "completed" && update.status !== "failed";
      default:
        return false;
    }
  }

  /** Thoughts and answers never share a line. */
  #speak(voice: Voice | undefined): void {
    if (voice !== this.#voice) {
      const { screen, isTalkative } = this.#options;
      screen.text(visible(this.#held));
      this.#held = "";
      screen.endLine();
      if (voice !== undefined && isTalkative) screen.line(voice === "answer" ? "Answer:" : "Thought:");
    }
    this.#voice = voice;
  }

  #plan(entries: Extract<SessionUpdate, { sessionUpdate: "plan" }>["entries"]): void {
    const { screen, isTalkative } = this.#options;
    if (!isTalkative) return;
    this.#speak(undefined);
    screen.line("Plan:");
    for (const { content, status } of entries) screen.line(`  ${PLAN_WORDS[status]} ${visibleLine(content)}`);
  }

  #notice(update: Notice): void {
    const { severity, title, description } = update;
    const told = serversIn(tenonMeta(update)["mcp"]).map(({ name }) => name);
    if (this.#options.record.isRepeated(title, told) || this.isLeaving) return;
    const { retry } = tenonMeta(update);
    if (isJsonObject(retry)) this.#report(`! ${retryWords(title, retry)}`, undefined);
    else if (severity === "error" || severity === "warning") this.#report(`! ${title}`, description);
    else if (this.#options.isTalkative) this.#report(`· ${title}`, description);
  }

  /** Causes carry the end of a server's stderr: its lines stay lines. */
  #report(text: string, hint: string | null | undefined): void {
    const { screen } = this.#options;
    const [first = "", ...rest] = visible(text).trimEnd().split("\n");
    screen.line(first);
    for (const line of preview(rest, { maxLines: REPORT_LINES, columns: screen.columns - 2 })) screen.line(`  ${line}`);
    if (hint) screen.line(`  ${visibleLine(hint)}`);
  }
}

const PLAN_WORDS = { pending: "[ ]", in_progress: "[>]", completed: "[x]" } as const;

/** What of a text can be shown without being continued: up to its last line break, or to the edge of the screen. */
function wholeLines(text: string, columns: number): string {
  const end = text.lastIndexOf("\n") + 1;
  if (end > 0 || displayWidth(text) < columns) return text.slice(0, end);
  return text.slice(0, text.lastIndexOf(" ") + 1);
}

// The tool calls of a session: one line with time and outcome when one ends.

interface OpenCall {
  title: string;
  input: string;
  status: NonNullable<ToolCall["status"]>;
  content: NonNullable<ToolCall["content"]>;
  /** When it started to run: the time a person took to allow it is not the tool's. */
  startedMs: number;
  /** It is older than this chat: how long it took is not known. */
  isOld: boolean;
}

const PREVIEW_LINES = 8;
const PREVIEW_INDENT = "    ";

class ToolCalls {
  readonly #options: PlainViewOptions;
  readonly #open = new Map<string, OpenCall>();

  constructor(options: PlainViewOptions) {
    this.#options = options;
  }

  /** What runs now, for people; undefined when nothing does. */
  get current(): string | undefined {
    return [...this.#open.values()].findLast(({ status }) => status === "in_progress")?.title;
  }

  started(call: ToolCall, isOld = false): void {
    const { screen, clock } = this.#options;
    const open: OpenCall = {
      title: visibleLine(call.title),
      input: shortArguments(call.rawInput),
      status: call.status ?? "pending",
      content: call.content ?? [],
      startedMs: clock.now(),
      isOld,
    };
    screen.endLine();
    this.#open.set(call.toolCallId, open);
    this.#endIfOver(call.toolCallId, open);
  }

  /** An update for a call nobody announced starts it: some agents send only those. */
  updated(update: ToolCallUpdate): void {
    const open = this.#open.get(update.toolCallId);
    if (!open) {
      const { toolCallId, title, rawInput, status, content } = update;
      const given = defined({ status: status ?? undefined, content: content ?? undefined });
      if (title != null) this.started({ toolCallId, title, rawInput, ...given });
      return;
    }
    if (update.title != null) open.title = visibleLine(update.title);
    if (update.rawInput !== undefined) open.input = shortArguments(update.rawInput);
    if (update.content != null) open.content = update.content;
    if (update.status != null) {
      if (open.status === "pending" && update.status === "in_progress") open.startedMs = this.#options.clock.now();
      open.status = update.status;
    }
    this.#endIfOver(update.toolCallId, open);
  }

  /** The turn is over: calls that never got an outcome say so. */
  endAll(): void {
    const { screen } = this.#options;
    for (const open of this.#open.values()) {
      const tail = [this.#elapsed(open), "no outcome"].filter((word) => word !== "").join(", ");
      screen.line(this.#line("–", open, tail));
    }
    this.#open.clear();
  }

  #endIfOver(id: string, open: OpenCall): void {
    const { screen } = this.#options;
    if (open.status !== "completed" && open.status !== "failed") return;
    this.#open.delete(id);
    screen.line(this.#line(open.status === "failed" ? "✗" : "✓", open, this.#elapsed(open)));
    const lines = preview(contentLines(open.content), {
      maxLines: PREVIEW_LINES,
      columns: screen.columns - PREVIEW_INDENT.length,
    });
    for (const line of lines) screen.line(PREVIEW_INDENT + line);
    for (const path of this.#kept(open.content)) screen.line(`${PREVIEW_INDENT}kept in ${visibleLine(path)}`);
  }

  /** Pictures and sounds as files: the model is told that the person has them. */
  #kept(content: OpenCall["content"]): string[] {
    return content.flatMap((part) => {
      const block = part.type === "content" ? part.content : undefined;
      if (block?.type !== "image" && block?.type !== "audio") return [];
      const kept = this.#options.pictures.keep(block.data, block.mimeType);
      return "path" in kept ? [kept.path] : [];
    });
  }

  #line(mark: string, open: OpenCall, tail: string): string {
    const { screen } = this.#options;
    const room = screen.columns - displayWidth(open.title) - tail.length - 6;
    const input = open.input === "" || room < 4 ? "" : ` ${clipToWidth(open.input, room)}`;
    return `${mark} ${open.title}${input}${tail === "" ? "" : ` (${tail})`}`;
  }

  #elapsed(open: OpenCall): string {
    if (open.isOld) return "";
    return formatElapsed(this.#options.clock.now() - open.startedMs);
  }
}
