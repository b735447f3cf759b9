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
import { messageOf } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { isJsonObject } from "../../base/json/json.js";
import { EXIT } from "../exit.js";
import { formatElapsed } from "../terminal/stream.js";
import { clipToWidth, displayWidth, visible, visibleJson, visibleLine } from "../terminal/text.js";
import { contentLines, describeBlock, preview, shortArguments } from "./describe.js";
import type { ChatTerminal } from "./line-reader.js";

export interface ChatView {
  /** Subscribes to the session's updates in the form the view needs. */
  listen(client: ClientApp): ClientApp;
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

  constructor(output: NodeJS.WritableStream, errorOutput: NodeJS.WritableStream) {
    this.#output = output;
    this.#errorOutput = errorOutput;
  }

  /** Takes the parameters unparsed: the SDK's schemas drop fields they do not know. */
  listen(client: ClientApp): ClientApp {
    const method = methods.client.session.update;
    const unparsed = (params: unknown): unknown => params;
    return client.onNotification(method, unparsed, ({ params }) => this.#print({ method, params }));
  }

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

  /** `isTalkative`: also shows what is worth knowing only while one watches, thoughts and notices that ask for nothing. */
  constructor(options: ChatTerminal, isTalkative: boolean) {
    this.#options = options;
    this.#isTalkative = isTalkative;
    this.#calls = new ToolCalls(options);
  }

  listen(client: ClientApp): ClientApp {
    return client.onNotification(methods.client.session.update, ({ params }) => {
      this.#options.reader.interject(() => this.#update(params.update));
    });
  }

  turnStarted(): void {
    this.#isInTurn = true;
    this.#think();
  }

  turnEnded(outcome: TurnOutcome): void {
    const { screen, palette } = this.#options;
    this.#isInTurn = false;
    this.#stopThinking();
    this.#calls.endAll();
    this.#speak(undefined);
    if (outcome.kind === "failed") this.failed(outcome.failure);
    const stop = outcome.kind === "stopped" ? STOP_TEXTS[outcome.stopReason] : undefined;
    if (stop !== undefined) screen.line(palette.yellow(`(${stop})`));
  }

  failed({ message, hint }: ChatFailure): void {
    this.#report(`error: ${message}`, hint, this.#options.palette.red);
  }

  #update(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        this.#stream("answer", update.content);
        break;
      case "agent_thought_chunk":
        if (this.#isTalkative) this.#stream("thought", update.content);
        break;
      case "tool_call":
        this.#stopThinking();
        this.#speak(undefined);
        this.#calls.started(update);
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

  #stream(voice: Voice, content: ContentBlock): void {
    const { screen, palette } = this.#options;
    this.#stopThinking();
    this.#speak(voice);
    const text = content.type === "text" ? describeBlock(content) : `${describeBlock(content)}\n`;
    screen.text(text, voice === "thought" ? palette.dim : undefined);
  }

  /** Thoughts and answers never share a line. */
  #speak(voice: Voice | undefined): void {
    if (voice !== this.#voice) this.#options.screen.endLine();
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

// The tool calls of a session on the screen: a live line while one runs, one lasting line with time and outcome when it ends.

interface OpenCall {
  title: string;
  input: string;
  status: NonNullable<ToolCall["status"]>;
  content: NonNullable<ToolCall["content"]>;
  /** When it started to run: the time a person took to allow it is not the tool's. */
  startedMs: number;
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

  started(call: ToolCall): void {
    this.#close(call.toolCallId);
    const { screen, clock } = this.#options;
    const open: OpenCall = {
      title: visibleLine(call.title),
      input: shortArguments(call.rawInput),
      status: call.status ?? "pending",
      content: call.content ?? [],
      startedMs: clock.now(),
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
      screen.line(this.#line(palette.yellow("–"), open, `${this.#elapsed(open)}, no outcome`));
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
    return `${mark} ${open.title}${input} ${palette.dim(`(${tail})`)}`;
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
    return formatElapsed(this.#options.clock.now() - open.startedMs);
  }
}
