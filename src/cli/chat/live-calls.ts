// Tool calls in the live terminal: a changing line while one runs; then one line with time and outcome, and its result folded below it.
import type { ToolCall, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { defined } from "../../base/json/defined.js";
import { renderDiff } from "../terminal/diff.js";
import type { LiveTerminal } from "../terminal/live/live-terminal.js";
import { wrapStyled } from "../terminal/live/wrap-styled.js";
import { type Clock, formatElapsed } from "../terminal/stream.js";
import { clipToWidth, displayWidth, visibleLine } from "../terminal/text.js";
import { contentLines, describeBlock, shortArguments } from "./describe.js";
import type { Pictures } from "./pictures.js";
import type { Transcript } from "./transcript.js";

/** Of a call whose title says what it does, they say nothing new. */
function argumentsOf({ kind, rawInput }: Pick<ToolCallUpdate, "kind" | "rawInput">): string {
  return kind == null || kind === "other" ? shortArguments(rawInput) : "";
}

interface OpenCall {
  title: string;
  input: string;
  status: NonNullable<ToolCall["status"]>;
  content: readonly ToolCallContent[];
  /** When it started to run: the time a person took to allow it is not the tool's. */
  startedMs: number;
  /** Refused, it never did; some agents do not say. */
  hasRun: boolean;
  /** It is older than this chat: how long it took is not known. */
  readonly isOld: boolean;
  readonly stop: () => void;
}

export interface LiveCallsOptions {
  readonly terminal: LiveTerminal;
  readonly clock: Clock;
  readonly transcript: Transcript;
  readonly pictures: Pictures;
  /** Called before lines of a call are committed. */
  readonly onBlock: () => void;
}

const RESULT_LINES = 4;
const ERROR_LINES = 20;
const DIFF_LINES = 30;
const INDENT = "    ";

export class LiveCalls {
  readonly #options: LiveCallsOptions;
  readonly #open = new Map<string, OpenCall>();
  /** Calls whose change was shown with the question: it is not shown again. */
  readonly #seen = new Set<string>();

  constructor(options: LiveCallsOptions) {
    this.#options = options;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** What runs now, for people; undefined when nothing does. */
  get current(): string | undefined {
    return [...this.#open.values()].findLast(({ status }) => status === "in_progress")?.title;
  }

  diffShown(toolCallId: string): void {
    this.#seen.add(toolCallId);
  }

  started(call: ToolCall, isOld = false): void {
    this.#close(call.toolCallId);
    const { terminal, clock } = this.#options;
    const stopSpin = isOld ? () => {} : terminal.spin();
    const stopShow = isOld
      ? () => {}
      : terminal.show("calls", { render: (columns, spinner) => [this.#liveLine(open, columns, spinner)] });
    const open: OpenCall = {
      title: visibleLine(call.title),
      input: argumentsOf(call),
      status: call.status ?? "pending",
      content: call.content ?? [],
      startedMs: clock.now(),
      hasRun: call.status === "in_progress",
      isOld,
      stop: () => {
        stopShow();
        stopSpin();
      },
    };
    this.#open.set(call.toolCallId, open);
    this.#endIfOver(call.toolCallId, open);
  }

  /** An update for a call nobody announced starts it: some agents send only those. */
  updated(update: ToolCallUpdate, isOld = false): void {
    const open = this.#open.get(update.toolCallId);
    if (!open) {
      const { toolCallId, title, rawInput, status, content } = update;
      const given = defined({ status: status ?? undefined, content: content ?? undefined });
      if (title != null) this.started({ toolCallId, title, rawInput, ...given }, isOld);
      return;
    }
    if (update.title != null) open.title = visibleLine(update.title);
    if (update.rawInput !== undefined) open.input = argumentsOf(update);
    if (update.content != null) open.content = update.content;
    if (update.status != null) {
      if (open.status === "pending" && update.status === "in_progress") open.startedMs = this.#options.clock.now();
      open.status = update.status;
      open.hasRun ||= update.status === "in_progress";
    }
    this.#options.terminal.draw();
    this.#endIfOver(update.toolCallId, open);
  }

  /** The turn is over: calls that never got an outcome say so. */
  endAll(): void {
    for (const [id, open] of [...this.#open]) {
      this.#close(id);
      const tail = [this.#elapsed(open), "no outcome"].filter((word) => word !== "").join(", ");
      this.#commit([this.#line(this.#options.terminal.palette.yellow("–"), open, tail)], []);
    }
  }

  #endIfOver(id: string, open: OpenCall): void {
    if (open.status !== "completed" && open.status !== "failed") return;
    this.#close(id);
    const { red, green } = this.#options.terminal.palette;
    const hasFailed = open.status === "failed";
    const head = this.#line(
      hasFailed ? red("✗") : green("✓"),
      open,
      hasFailed && !open.hasRun ? "" : this.#elapsed(open),
    );
    // The change itself is shown: its text as well would say it twice.
    const isShort = !hasFailed && open.content.some(({ type }) => type === "diff");
    const parts = open.content.map((content) => this.#part(content, id, { hasFailed, isShort }));
    const full = parts.flatMap((part) => part.full);
    this.#commit([head, ...parts.flatMap((part) => part.shown)], full);
    this.#seen.delete(id);
  }

  /** What is shown of one part of a result, and all of it. */
  #part(
    content: ToolCallContent,
    id: string,
    { hasFailed, isShort }: { readonly hasFailed: boolean; readonly isShort: boolean },
  ): { readonly shown: string[]; readonly full: string[] } {
    const { palette } = this.#options.terminal;
    if (content.type === "diff") {
      const { title, lines } = renderDiff(content, palette);
      const full = [INDENT + title, ...lines.map((line) => INDENT + line)];
      return { full, shown: this.#seen.has(id) ? [INDENT + title] : this.#folded(full, DIFF_LINES) };
    }
    const block = content.type === "content" ? content.content : undefined;
    if (block?.type === "image" || block?.type === "audio") return this.#media(block);
    const style = hasFailed ? palette.red : palette.dim;
    const full = contentLines([content]).map((line) => INDENT + style(line.replaceAll("\t", "  ")));
    const most = hasFailed ? ERROR_LINES : RESULT_LINES;
    return { full, shown: this.#folded(isShort ? full.slice(0, 1) : full, most) };
  }

  #media(block: { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }) {
    const { pictures, terminal } = this.#options;
    const kept = pictures.keep(block.data, block.mimeType);
    const where =
      "path" in kept ? `kept in ${visibleLine(kept.path)}` : `could not be kept: ${visibleLine(kept.problem)}`;
    const line = INDENT + terminal.palette.dim(`${describeBlock(block)} ${where}`);
    const drawn = block.type === "image" ? pictures.draw(block.data, block.mimeType) : undefined;
    return { full: [line], shown: drawn === undefined ? [line] : [line, INDENT + drawn] };
  }

  /** Errors and results are broken between words; what is left out is counted. */
  #folded(lines: readonly string[], most: number): string[] {
    const { terminal } = this.#options;
    const wrapped = lines.flatMap((line) => wrapStyled(line, terminal.columns, INDENT.length));
    if (wrapped.length <= most + 1) return wrapped;
    const hidden = wrapped.length - most;
    return [...wrapped.slice(0, most), INDENT + terminal.palette.dim(`… ${hidden} more lines (Ctrl-O)`)];
  }

  #commit(shown: readonly string[], full: readonly string[]): void {
    const { terminal, transcript, onBlock } = this.#options;
    onBlock();
    terminal.commit(shown);
    transcript.add([shown[0] ?? "", ...full]);
  }

  #close(id: string): void {
    this.#open.get(id)?.stop();
    this.#open.delete(id);
  }

  #line(mark: string, open: OpenCall, tail: string): string {
    const { columns, palette } = this.#options.terminal;
    const title = clipToWidth(open.title, Math.max(10, columns - tail.length - 6));
    const room = columns - displayWidth(title) - tail.length - 6;
    // A title that has the arguments in it need not be followed by them.
    const isSaid = open.title.includes("=") || room < 4;
    const input = open.input === "" || isSaid ? "" : ` ${palette.dim(clipToWidth(open.input, room))}`;
    return `${mark} ${title}${input}${tail === "" ? "" : ` ${palette.dim(`(${tail})`)}`}`;
  }

  #liveLine(open: OpenCall, columns: number, spinner: string): string {
    const { palette } = this.#options.terminal;
    const isWaiting = open.status === "pending";
    const progress = isWaiting ? undefined : contentLines(open.content.filter(({ type }) => type === "content")).at(-1);
    const words = [open.title, isWaiting ? "waiting" : this.#elapsed(open), progress ?? open.input];
    const text = words.filter((word) => word !== "").join(" · ");
    return `${palette.cyan(spinner)} ${clipToWidth(text, columns - 3)}`;
  }

  #elapsed(open: OpenCall): string {
    if (open.isOld) return "";
    return formatElapsed(this.#options.clock.now() - open.startedMs);
  }
}
