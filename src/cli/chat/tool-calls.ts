// The tool calls of a session on the screen: a live line while one runs, one lasting line with time and outcome when it ends.
import type { ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { defined } from "../../base/json/defined.js";
import { formatElapsed } from "../terminal/stream.js";
import { clipToWidth, displayWidth, visibleLine } from "../terminal/text.js";
import { contentLines, preview, shortArguments } from "./describe.js";
import type { ChatTerminal } from "./line-reader.js";

interface OpenCall {
  title: string;
  input: string;
  status: ToolCallStatus;
  content: readonly ToolCallContent[];
  /** When it started to run: the time a person took to allow it is not the tool's. */
  startedMs: number;
  stopShowing: () => void;
}

const PREVIEW_LINES = 8;
const PREVIEW_INDENT = "    ";

export class ToolCalls {
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
