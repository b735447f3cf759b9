// How the chat shows a turn: the interface of a view, how a turn ends, the view for programs, and the one for people.
import {
  type ClientApp,
  type ContentBlock,
  methods,
  type Notice,
  RequestError,
  type SessionUpdate,
  type StopReason,
  type ToolCall,
  type ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import { messageOf, TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import { EXIT } from "../exit.js";
import { formatElapsed } from "../terminal/stream.js";
import { clipToWidth, displayWidth, visible, visibleJson, visibleLine } from "../terminal/text.js";
import { contentLines, describeBlock, preview, shortArguments } from "./describe.js";
import type { ChatTerminal } from "./line-reader.js";
import { endedQuestion, readWho, type SharedTurns, tenonMeta } from "./shared.js";

export interface ChatView {
  /** Subscribes to the session's updates in the form the view needs. */
  listen(client: ClientApp): ClientApp;
  /** What stands before the line that a person types. */
  readonly prompt: string;
  /** The conversation so far has been shown. */
  joined(): void;
  turnStarted(): void;
  turnEnded(outcome: TurnOutcome): void;
  /** Something went wrong outside a turn. */
  failed(failure: ChatFailure): void;
}

// How a turn ended, and which exit code says so.

export interface ChatFailure {
  readonly message: string;
  readonly hint?: string;
  /** The JSON-RPC code, when the agent answered with one. */
  readonly code?: number;
  readonly data?: unknown;
}

export type TurnOutcome =
  /** The agent answered the prompt; `wasDenied`: a permission question of this turn got a no. */
  | { readonly kind: "stopped"; readonly stopReason: StopReason; readonly wasDenied: boolean }
  | { readonly kind: "failed"; readonly failure: ChatFailure }
  /** The person quit before the agent had answered. */
  | { readonly kind: "abandoned" };

export function exitCodeOf(outcome: TurnOutcome): number {
  switch (outcome.kind) {
    case "abandoned":
      return EXIT.interrupted;
    case "failed":
      return EXIT.failed;
    case "stopped":
      if (outcome.stopReason === "cancelled") return EXIT.interrupted;
      if (outcome.wasDenied) return EXIT.denied;
      return outcome.stopReason === "end_turn" ? EXIT.done : EXIT.failed;
  }
}

/** What a person needs to know of whatever a request was rejected with. */
export function toFailure(thrown: unknown): ChatFailure {
  if (thrown instanceof TenonError) return { message: thrown.message, ...defined({ hint: thrown.hint || undefined }) };
  if (!(thrown instanceof RequestError)) return { message: messageOf(thrown) };
  const data = isJsonObject(thrown.data) ? thrown.data : {};
  const hint = typeof data.hint === "string" ? data.hint : undefined;
  const message = typeof data.details === "string" ? `${thrown.message}: ${data.details}` : thrown.message;
  return { message, code: thrown.code, ...defined({ hint, data: thrown.data }) };
}

/** Why an answer is not whole; nothing when it is. */
const STOP_TEXTS: Readonly<Record<StopReason, string | undefined>> = {
  end_turn: undefined,
  cancelled: "cancelled",
  max_tokens: "the answer was cut: the model's output limit was reached",
  max_turn_requests: "stopped: the turn reached its limit of model calls",
  refusal: "the model refused to answer",
};

// The view for programs: every update as it came over the wire, one JSON text a line, and nothing else on the output.

export class JsonView implements ChatView {
  readonly #output: NodeJS.WritableStream;
  readonly #errorOutput: NodeJS.WritableStream;
  readonly #shared: SharedTurns | undefined;

  constructor(output: NodeJS.WritableStream, errorOutput: NodeJS.WritableStream, shared?: SharedTurns) {
    this.#output = output;
    this.#errorOutput = errorOutput;
    this.#shared = shared;
  }

  /** Takes the parameters unparsed: the SDK's schemas drop fields they do not know. */
  listen(client: ClientApp): ClientApp {
    const method = methods.client.session.update;
    const unparsed = (params: unknown): unknown => params;
    return client.onNotification(method, unparsed, ({ params }) => {
      this.#shared?.hear(tenonMeta(isJsonObject(params) ? params["update"] : undefined));
      this.#print({ method, params });
    });
  }

  readonly prompt = "› ";

  joined(): void {}

  turnStarted(): void {}

  turnEnded(outcome: TurnOutcome): void {
    if (outcome.kind === "stopped") this.#print({ result: { stopReason: outcome.stopReason } });
    else if (outcome.kind === "failed") this.failed(outcome.failure);
  }

  failed({ code, message, hint, data }: ChatFailure): void {
    this.#print({ error: defined({ code, message, data }) });
    this.#errorOutput.write(`tenon: ${visible(message)}${hint === undefined ? "" : `\n  ${visible(hint)}`}\n`);
  }

  #print(value: unknown): void {
    this.#output.write(`${visibleJson(JSON.stringify(value))}\n`);
  }
}

// The view for people: the answer as it streams, tool calls and notices as lines around it.

const REPORT_LINES = 10;
/** Shorter waits need no number. */
const NOTEWORTHY_MS = 1_000;

type Voice = "answer" | "thought";

export class TextView implements ChatView {
  readonly #options: ChatTerminal;
  readonly #isTalkative: boolean;
  readonly #calls: ToolCalls;
  #voice: Voice | undefined;
  #isInTurn = false;
  #stopThinking: () => void = () => {};
  /** The end of an answer that has no line of its own yet: while somebody types, only whole lines are shown. */
  #held = "";
  #endReplay: (() => void) | undefined;

  /** `isTalkative`: also shows what is worth knowing only while one watches, thoughts and notices that ask for nothing. */
  constructor(options: ChatTerminal, isTalkative: boolean) {
    this.#options = options;
    this.#isTalkative = isTalkative;
    this.#calls = new ToolCalls(options);
    if (options.shared) this.#endReplay = options.screen.hold();
  }

  listen(client: ClientApp): ClientApp {
    return client.onNotification(methods.client.session.update, ({ params }) => {
      const { reader } = this.#options;
      if (this.#isHeld(params.update)) return;
      reader.interject(() => {
        this.#update(params.update);
        reader.setPrompt(this.prompt);
      });
    });
  }

  /** Where a session is shared, it says whether a turn runs: people type all the time. */
  get prompt(): string {
    const { shared, palette, screen } = this.#options;
    if (!shared?.isBusy) return palette.cyan("› ");
    const { state, other } = shared;
    const words = [other === undefined ? state : `${state} for ${visibleLine(other)}`, this.#calls.current ?? ""];
    const text = words.filter((word) => word !== "").join(" · ");
    return `${palette.dim(clipToWidth(text, Math.floor(screen.columns / 2)))} ${palette.cyan("› ")}`;
  }

  joined(): void {
    this.#endReplay?.();
    this.#endReplay = undefined;
    this.#speak(undefined);
    if (this.#options.shared?.isBusy) this.turnStarted();
  }

  turnStarted(): void {
    this.#isInTurn = true;
    if (this.#calls.openCount === 0) this.#think();
  }

  turnEnded(outcome: TurnOutcome): void {
    const { screen, palette, shared } = this.#options;
    // Where a session is shared and prompts are not waited for, another turn may run already.
    if (!(shared?.isBusy && this.#isTalkative)) this.#settle();
    if (outcome.kind === "failed") this.failed(outcome.failure);
    const stop = outcome.kind === "stopped" ? STOP_TEXTS[outcome.stopReason] : undefined;
    if (stop !== undefined) screen.line(palette.yellow(`(${stop})`));
  }

  #settle(): void {
    this.#isInTurn = false;
    this.#stopThinking();
    this.#calls.endAll();
    this.#speak(undefined);
  }

  failed({ message, hint }: ChatFailure): void {
    this.#report(`error: ${message}`, hint, this.#options.palette.red);
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
        if (this.#isTalkative) this.#stream("thought", update.content);
        break;
      case "tool_call":
        this.#stopThinking();
        this.#speak(undefined);
        this.#calls.started(update, this.#endReplay !== undefined);
        break;
      case "tool_call_update":
        this.#calls.updated(update);
        if (this.#isInTurn && this.#calls.openCount === 0) this.#think();
        break;
      case "notice":
        this.#notice(update);
        break;
      default:
        break; // plans, modes, options and commands of this agent need no line of their own
    }
  }

  /** A prompt of another client, or of the conversation so far. */
  #prompted(update: Extract<SessionUpdate, { sessionUpdate: "user_message_chunk" }>): void {
    const { screen, palette, shared } = this.#options;
    if (!shared) return;
    this.#speak(undefined);
    const by = readWho(tenonMeta(update)["by"]);
    const name = by && !shared.isOwn(by) ? `${visibleLine(by.name)} ` : "";
    for (const line of describeBlock(update.content).trimEnd().split("\n")) {
      screen.line(`${palette.cyan(`${name}›`)} ${palette.bold(line)}`);
    }
  }

  /** Of a session that other clients use too. */
  #info(meta: JsonObject): void {
    const { shared, screen, palette } = this.#options;
    if (!shared) return;
    // That a turn of our own began may be told when its calls are shown already.
    const isOwn = !shared.isBusy && shared.isSent(meta["promptId"]);
    const change = shared.hear(meta);
    if (change === "ended" || (change === "began" && !isOwn)) this.#settle();
    if (change === "began" && !this.#endReplay) this.turnStarted();
    const ended = endedQuestion(meta);
    if (ended?.by && !shared.isOwn(ended.by)) {
      const how = ended.answer === undefined ? "" : ` (${visibleLine(ended.answer)})`;
      screen.line(palette.dim(`· answered by ${visibleLine(ended.by.name)}${how}`));
    }
    const { ended: end } = meta;
    if (isJsonObject(end) && !shared.isSent(end["promptId"])) this.#othersEnd(end);
  }

  /** Of a turn that another client started: the answer to its prompt says it there. */
  #othersEnd({ stopReason, error }: JsonObject): void {
    const { screen, palette } = this.#options;
    const { message } = isJsonObject(error) ? error : {};
    if (typeof message === "string") this.failed({ message });
    const [, words] = Object.entries(STOP_TEXTS).find(([reason]) => reason === stopReason) ?? [];
    if (words !== undefined) screen.line(palette.yellow(`(${words})`));
  }

  #stream(voice: Voice, content: ContentBlock): void {
    const { screen, reader } = this.#options;
    this.#stopThinking();
    this.#speak(voice);
    const text = this.#held + (content.type === "text" ? describeBlock(content) : `${describeBlock(content)}\n`);
    const lines = reader.isOpen ? wholeLines(text, screen.columns) : text;
    this.#held = text.slice(lines.length);
    this.#write(lines === "" || lines.endsWith("\n") || !reader.isOpen ? lines : `${lines.trimEnd()}\n`);
  }

  #write(text: string): void {
    const { screen, palette } = this.#options;
    screen.text(text, this.#voice === "thought" ? palette.dim : undefined);
  }

  /** Whether there is nothing to show of it before more has come: the line that somebody types in stays as it is. */
  #isHeld(update: SessionUpdate): boolean {
    const { reader, screen } = this.#options;
    const isAnswer = update.sessionUpdate === "agent_message_chunk" && this.#voice === "answer";
    const isThought = update.sessionUpdate === "agent_thought_chunk" && this.#voice === "thought";
    if (!reader.isOpen || !(isAnswer || isThought) || update.content.type !== "text") return false;
    const text = this.#held + describeBlock(update.content);
    if (wholeLines(text, screen.columns) !== "") return false;
    this.#held = text;
    return true;
  }

  /** Thoughts and answers never share a line. */
  #speak(voice: Voice | undefined): void {
    if (voice !== this.#voice) {
      if (this.#held !== "") this.#write(this.#held);
      this.#held = "";
      this.#options.screen.endLine();
    }
    this.#voice = voice;
  }

  #think(): void {
    const { screen, palette, clock } = this.#options;
    this.#stopThinking();
    const startedMs = clock.now();
    const stop = screen.show({
      render: (_columns, spinner) => {
        const elapsedMs = clock.now() - startedMs;
        const elapsed = elapsedMs < NOTEWORTHY_MS ? "" : ` (${formatElapsed(elapsedMs)})`;
        return `${palette.cyan(spinner)} ${palette.dim(`thinking${elapsed}`)}`;
      },
    });
    this.#stopThinking = () => {
      stop();
      this.#stopThinking = () => {};
    };
  }

  #notice({ severity, title, description }: Notice): void {
    const { palette } = this.#options;
    if (severity === "error") this.#report(`! ${title}`, description, palette.red);
    else if (severity === "warning") this.#report(`! ${title}`, description, palette.yellow);
    else if (this.#isTalkative) this.#report(`· ${title}`, description, palette.dim);
  }

  /** Causes carry the end of a server's stderr: its lines stay lines. */
  #report(text: string, hint: string | null | undefined, style: (line: string) => string): void {
    const { screen, palette } = this.#options;
    const [first = "", ...rest] = visible(text).trimEnd().split("\n");
    screen.line(style(first));
    for (const line of preview(rest, { maxLines: REPORT_LINES, columns: screen.columns - 2 }))
      screen.line(palette.dim(`  ${line}`));
    if (hint) screen.line(palette.dim(`  ${visibleLine(hint)}`));
  }
}

/** What of a text can be shown without being continued: up to its last line break, or to the edge of the screen. */
function wholeLines(text: string, columns: number): string {
  const end = text.lastIndexOf("\n") + 1;
  if (end > 0 || displayWidth(text) < columns) return text.slice(0, end);
  return text.slice(0, text.lastIndexOf(" ") + 1);
}

// The tool calls of a session on the screen: a live line while one runs, one lasting line with time and outcome when it ends.

interface OpenCall {
  title: string;
  input: string;
  status: NonNullable<ToolCall["status"]>;
  content: NonNullable<ToolCall["content"]>;
  /** When it started to run: the time a person took to allow it is not the tool's. */
  startedMs: number;
  /** It is older than this chat: how long it took is not known. */
  isOld: boolean;
  stopShowing: () => void;
}

const PREVIEW_LINES = 8;
const PREVIEW_INDENT = "    ";

class ToolCalls {
  readonly #options: ChatTerminal;
  readonly #open = new Map<string, OpenCall>();

  constructor(options: ChatTerminal) {
    this.#options = options;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** What runs now, for people; undefined when nothing does. */
  get current(): string | undefined {
    return [...this.#open.values()].findLast(({ status }) => status === "in_progress")?.title;
  }

  started(call: ToolCall, isOld = false): void {
    this.#close(call.toolCallId);
    const { screen, clock } = this.#options;
    const open: OpenCall = {
      title: visibleLine(call.title),
      input: shortArguments(call.rawInput),
      status: call.status ?? "pending",
      content: call.content ?? [],
      startedMs: clock.now(),
      isOld,
      stopShowing: () => {},
    };
    screen.endLine();
    open.stopShowing = screen.show({ render: (columns, spinner) => this.#liveLine(open, columns, spinner) });
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
    const { screen, palette } = this.#options;
    for (const [id, open] of [...this.#open]) {
      this.#close(id);
      screen.line(
        this.#line(
          palette.yellow("–"),
          open,
          [this.#elapsed(open), "no outcome"].filter((word) => word !== "").join(", "),
        ),
      );
    }
  }

  #endIfOver(id: string, open: OpenCall): void {
    const { screen, palette } = this.#options;
    if (open.status !== "completed" && open.status !== "failed") return;
    this.#close(id);
    const hasFailed = open.status === "failed";
    screen.line(this.#line(hasFailed ? palette.red("✗") : palette.green("✓"), open, this.#elapsed(open)));
    const lines = preview(contentLines(open.content), {
      maxLines: PREVIEW_LINES,
      columns: screen.columns - PREVIEW_INDENT.length,
    });
    for (const line of lines) screen.line(PREVIEW_INDENT + (hasFailed ? palette.red(line) : palette.dim(line)));
  }

  #close(id: string): void {
    this.#open.get(id)?.stopShowing();
    this.#open.delete(id);
  }

  #line(mark: string, open: OpenCall, tail: string): string {
    const { screen, palette } = this.#options;
    const room = screen.columns - displayWidth(open.title) - tail.length - 6;
    const input = open.input === "" || room < 4 ? "" : ` ${palette.dim(clipToWidth(open.input, room))}`;
    return `${mark} ${open.title}${input}${tail === "" ? "" : ` ${palette.dim(`(${tail})`)}`}`;
  }

  #liveLine(open: OpenCall, columns: number, spinner: string): string {
    const { palette } = this.#options;
    const isWaiting = open.status === "pending";
    const progress = isWaiting ? undefined : contentLines(open.content).at(-1);
    const words = [open.title, isWaiting ? "waiting" : this.#elapsed(open), progress ?? open.input];
    const text = words.filter((word) => word !== "").join(" · ");
    return `${palette.cyan(spinner)} ${clipToWidth(text, columns - 3)}`;
  }

  #elapsed(open: OpenCall): string {
    if (open.isOld) return "";
    return formatElapsed(this.#options.clock.now() - open.startedMs);
  }
}
