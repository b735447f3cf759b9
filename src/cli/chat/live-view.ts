// The view for a person at a live terminal: streamed Markdown, tool calls, thoughts, the plan, notices and retries.
import { type ClientApp, type ContentBlock, methods, type Notice, type SessionUpdate } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject } from "../../base/json/json.js";
import type { LiveTerminal } from "../terminal/live/live-terminal.js";
import { wrapStyled } from "../terminal/live/wrap-styled.js";
import { MarkdownStream } from "../terminal/markdown-stream.js";
import { type Clock, formatElapsed } from "../terminal/stream.js";
import { clipToWidth, visible, visibleLine } from "../terminal/text.js";
import { contentLines, describeBlock, preview, retryWords } from "./describe.js";
import { LiveCalls } from "./live-calls.js";
import type { Pictures } from "./pictures.js";
import type { ChatRecord } from "./record.js";
import { serversIn } from "./session.js";
import { endedQuestion, readWho, type SharedTurns, tenonMeta } from "./shared.js";
import { Transcript } from "./transcript.js";
import { type ChatFailure, type ChatView, STOP_TEXTS, type TurnOutcome } from "./view.js";

export interface LiveViewOptions {
  readonly terminal: LiveTerminal;
  readonly clock: Clock;
  readonly record: ChatRecord;
  readonly pictures: Pictures;
  readonly shared?: SharedTurns;
  /** Called with the title that the session has now. */
  readonly onTitle: (title: string) => void;
}

/** Shorter waits need no number. */
const NOTEWORTHY_MS = 1_000;
const REPORT_LINES = 12;
const PLAN_LINES = 8;
/** Of a prompt: a long text that was pasted must not push everything else out of the terminal's memory. */
const PROMPT_LINES = 40;
const MARKS = { pending: "☐", in_progress: "▸", completed: "☑" } as const;

type Block = "prompt" | "answer" | "calls" | "notice" | "plan";
type PlanEntries = Extract<SessionUpdate, { sessionUpdate: "plan" }>["entries"];

export class LiveView implements ChatView {
  readonly transcript: Transcript = new Transcript();
  readonly #options: LiveViewOptions;
  readonly #calls: LiveCalls;
  readonly #answer: MarkdownStream;
  #isAnswering = false;
  #thought: { text: string; readonly beganMs: number; readonly stop: () => void } | undefined;
  #last: Block | undefined;
  #stopSilence: () => void = () => {};
  #waiting: { readonly words: () => string; readonly stop: () => void } | undefined;
  #plan: PlanEntries = [];
  #isInTurn = false;
  #isReplay = false;
  #lastNotice: string | undefined;
  isLeaving = false;
  /** Called when a notice tells of a server, which says nothing of the others. */
  onServer: () => void = () => {};

  constructor(options: LiveViewOptions) {
    this.#options = options;
    const { terminal, clock, pictures } = options;
    this.#calls = new LiveCalls({
      ...{ terminal, clock, pictures, transcript: this.transcript },
      onBlock: () => this.#block("calls"),
    });
    this.#answer = new MarkdownStream(() => ({ columns: terminal.columns, palette: terminal.palette }));
    terminal.show("answer", { render: () => this.#drawAnswer() });
    terminal.show("plan", { render: (columns) => this.#drawPlan(columns) });
    terminal.show("queue", {
      render: (columns) =>
        terminal.queued.map((text) => terminal.palette.dim(clipToWidth(`queued › ${visibleLine(text)}`, columns))),
    });
  }

  listen(client: ClientApp): ClientApp {
    return client.onNotification(methods.client.session.update, ({ params }) => this.#update(params.update));
  }

  readonly prompt = "› ";

  get isInTurn(): boolean {
    return this.#isInTurn;
  }

  /** What is sent before the session is there is the conversation so far. */
  replay(): void {
    this.#isReplay = true;
  }

  joined(): void {
    this.#isReplay = false;
    this.#endAnswer();
    // What runs still gets its outcome.
    if (this.#options.shared?.isBusy) this.turnStarted();
    else this.#calls.endAll();
  }

  /** Another session begins. */
  reset(): void {
    this.transcript.clear();
    this.#plan = [];
    this.#last = "notice";
  }

  diffShown(toolCallId: string): void {
    this.#calls.diffShown(toolCallId);
  }

  /** Something is asked: it begins on lines of its own. */
  asking(): void {
    this.#endThought();
    this.#endAnswer();
    this.#block("notice");
  }

  /** What the person sent, above the answer to it. */
  prompted(text: string, name = ""): void {
    const { terminal } = this.#options;
    const { cyan, bold, dim } = terminal.palette;
    this.#block("prompt");
    const lines = visible(text)
      .trimEnd()
      .split("\n")
      .flatMap((line, index) =>
        wrapStyled(`${index === 0 ? cyan(`${name}›`) : " "} ${bold(line)}`, terminal.columns, 2),
      );
    const hidden = lines.length - PROMPT_LINES;
    const folded = dim(`  … ${hidden} more lines (Ctrl-O)`);
    terminal.commit(hidden > 1 ? [...lines.slice(0, PROMPT_LINES), folded] : lines);
    this.transcript.add(lines);
  }

  turnStarted(): void {
    this.#isInTurn = true;
    this.#think();
  }

  turnEnded(outcome: TurnOutcome): void {
    const { terminal, shared } = this.#options;
    if (!shared?.isBusy) this.#settle();
    if (outcome.kind === "failed") this.failed(outcome.failure);
    const stop = outcome.kind === "stopped" ? STOP_TEXTS[outcome.stopReason] : undefined;
    if (stop !== undefined) this.#report(`(${stop})`, undefined, terminal.palette.yellow);
  }

  failed({ message, hint }: ChatFailure): void {
    this.#report(`error: ${message}`, hint, this.#options.terminal.palette.red);
  }

  #settle(): void {
    this.#isInTurn = false;
    this.#endWait();
    this.#endThought();
    this.#endAnswer();
    this.#calls.endAll();
    this.#commitPlan();
  }

  #update(update: SessionUpdate): void {
    this.#options.record.hear(update);
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return this.#othersPrompt(update);
      case "agent_message_chunk":
        return this.#say(update.content);
      case "agent_thought_chunk":
        return this.#think(update.content);
      case "tool_call":
      case "tool_call_update":
        return this.#call(update);
      case "plan":
        this.#plan = update.entries;
        break;
      case "session_info_update":
        if (typeof update.title === "string") this.#options.onTitle(update.title);
        return this.#info(tenonMeta(update));
      case "notice":
        return this.#notice(update);
      default:
        break;
    }
    this.#options.terminal.draw();
  }

  #othersPrompt(update: Extract<SessionUpdate, { sessionUpdate: "user_message_chunk" }>): void {
    const { shared } = this.#options;
    if (!shared && !this.#isReplay) return;
    this.#endThought();
    this.#endAnswer();
    const { by: sender, promptId } = tenonMeta(update);
    if (shared?.show(promptId)) this.#calls.endAll();
    const by = readWho(sender);
    const name = by && shared && !shared.isOwn(by) ? `${visibleLine(by.name)} ` : "";
    this.prompted(describeBlock(update.content), name);
  }

  #say(content: ContentBlock): void {
    this.#endWait();
    this.#endThought();
    if (content.type === "text") {
      if (!this.#isAnswering) this.#block("answer");
      this.#isAnswering = true;
      this.#answer.push(content.text);
    } else {
      this.#endAnswer();
      this.#block("answer");
      this.#commit(contentLines([{ type: "content", content }]));
    }
    this.#awaitMore();
    this.#options.terminal.draw();
  }

  /** An answer that stops for a while is not over: arguments of a call, for one, come unseen. */
  #awaitMore(): void {
    this.#stopSilence();
    if (this.#isReplay || !this.#isInTurn) return;
    this.#stopSilence = this.#options.clock.after(NOTEWORTHY_MS, () => {
      if (this.#isInTurn && this.#isAnswering && !this.#waiting) this.#think();
    });
  }

  #drawAnswer(): readonly string[] {
    const lines = this.#answer.take();
    if (lines.length > 0) this.#commit(lines);
    return this.#answer.live();
  }

  #endAnswer(): void {
    if (!this.#isAnswering) return;
    this.#commit(this.#answer.end());
    this.#isAnswering = false;
  }

  /** Without content: the model has begun, and nothing of it is there yet. */
  #think(content?: ContentBlock): void {
    const { terminal, clock } = this.#options;
    if (content === undefined) {
      const beganMs = clock.now();
      const elapsed = () => (clock.now() - beganMs < NOTEWORTHY_MS ? "" : ` ${formatElapsed(clock.now() - beganMs)}`);
      this.#wait(() => `thinking${elapsed()}${terminal.canStop() ? " · Esc stops" : ""}`);
      return;
    }
    this.#endWait();
    this.#endAnswer();
    if (!this.#thought) {
      const stopSpin = this.#isReplay ? () => {} : terminal.spin();
      const stopShow = terminal.show("waiting", {
        render: (columns, spinner) => {
          const words = visibleLine(this.#thought?.text.slice(-columns) ?? "");
          return [terminal.palette.dim(clipToWidth(`${spinner} thinking: ${words}`, columns))];
        },
      });
      const stop = () => {
        stopShow();
        stopSpin();
      };
      this.#thought = { text: "", beganMs: clock.now(), stop };
    }
    this.#thought.text += content.type === "text" ? content.text : describeBlock(content);
    terminal.draw();
  }

  /** Folded to one line; all of it is in the transcript. */
  #endThought(): void {
    const thought = this.#thought;
    if (!thought) return;
    this.#thought = undefined;
    thought.stop();
    const { terminal, clock } = this.#options;
    const lines = visible(thought.text)
      .trim()
      .split("\n")
      .map((line) => `  ${line}`);
    const time = this.#isReplay ? "" : ` for ${formatElapsed(clock.now() - thought.beganMs)}`;
    this.#block("answer");
    terminal.commit([terminal.palette.dim(`✻ thought${time} (Ctrl-O shows it)`)]);
    this.transcript.add(["✻ thought", ...lines.map((line) => terminal.palette.dim(line))]);
  }

  #call(update: Extract<SessionUpdate, { sessionUpdate: "tool_call" | "tool_call_update" }>): void {
    this.#endWait();
    this.#endThought();
    this.#endAnswer();
    if (update.sessionUpdate === "tool_call") this.#calls.started(update, this.#isReplay);
    else this.#calls.updated(update, this.#isReplay);
    if (this.#isInTurn && this.#calls.openCount === 0) this.#think();
  }

  /** One line that changes, below what is finished. */
  #wait(words: () => string): void {
    this.#endWait();
    const { terminal } = this.#options;
    const stopSpin = terminal.spin();
    const stopShow = terminal.show("waiting", {
      render: (columns, spinner) => [
        `${terminal.palette.cyan(spinner)} ${terminal.palette.dim(clipToWidth(words(), columns - 2))}`,
      ],
    });
    const stop = () => {
      stopShow();
      stopSpin();
    };
    this.#waiting = { words, stop };
  }

  #endWait(): void {
    this.#stopSilence();
    this.#waiting?.stop();
    this.#waiting = undefined;
  }

  #drawPlan(columns: number): string[] {
    if (!this.#isInTurn || this.#plan.length === 0) return [];
    const active = Math.max(
      0,
      this.#plan.findIndex(({ status }) => status !== "completed"),
    );
    const first = Math.max(0, Math.min(active - 2, this.#plan.length - PLAN_LINES));
    return this.#planLines(this.#plan.slice(first, first + PLAN_LINES)).map((line) => clipToWidth(line, columns));
  }

  #planLines(entries: PlanEntries): string[] {
    return entries.map(({ content, status }) => `  ${MARKS[status]} ${visibleLine(content)}`);
  }

  #commitPlan(): void {
    if (this.#plan.length === 0) return;
    const done = this.#plan.filter(({ status }) => status === "completed").length;
    this.#block("plan");
    this.#commit([`Plan: ${done} of ${this.#plan.length} done`, ...this.#planLines(this.#plan)]);
    this.#plan = [];
  }

  /** Of a session that other clients use too. */
  #info(meta: JsonObject): void {
    const { shared, terminal } = this.#options;
    if (!shared) return;
    const { change, isOver } = shared.hear(meta);
    if (isOver) this.#settle();
    if (change === "began" && !this.#isReplay) this.turnStarted();
    const ended = endedQuestion(meta);
    if (ended?.by && !shared.isOwn(ended.by)) {
      const how = ended.answer === undefined ? "" : ` (${visibleLine(ended.answer)})`;
      this.#report(`· answered by ${ended.by.name}${how}`, undefined, terminal.palette.dim);
    }
    const { ended: end } = meta;
    if (isJsonObject(end) && !shared.isOwnPrompt(end["promptId"])) this.#othersEnd(end);
    terminal.draw();
  }

  #othersEnd({ stopReason, error }: JsonObject): void {
    const { message } = isJsonObject(error) ? error : {};
    if (typeof message === "string") this.failed({ message });
    const [, words] = Object.entries(STOP_TEXTS).find(([reason]) => reason === stopReason) ?? [];
    if (words !== undefined) this.#report(`(${words})`, undefined, this.#options.terminal.palette.yellow);
  }

  #notice(update: Notice): void {
    const { severity, title, description } = update;
    const { terminal, record } = this.#options;
    const { retry, mcp } = tenonMeta(update);
    const told = serversIn(mcp);
    for (const { name, state } of told) record.status.server(name, state);
    if (told.length > 0 && !this.#isReplay && !this.isLeaving) this.onServer();
    if (this.#isReplay || this.isLeaving) return;
    if (isJsonObject(retry) && this.#isInTurn) return this.#retry(title, retry);
    // What repeats itself says nothing new.
    const isRepeated = record.isRepeated(
      title,
      told.map(({ name }) => name),
    );
    if (isRepeated || (this.#lastNotice === title && severity !== "error")) return terminal.draw();
    this.#lastNotice = title;
    if (severity === "error") this.#report(`! ${title}`, description, terminal.palette.red);
    else if (severity === "warning") this.#report(`! ${title}`, description, terminal.palette.yellow);
    else this.#report(`· ${title}`, description, terminal.palette.dim);
  }

  /** One line that counts down, in place of the notices of one outage. */
  #retry(title: string, retry: JsonObject): void {
    this.#endThought();
    this.#wait(() => visibleLine(retryWords(title, retry)));
    this.transcript.add([`! ${visibleLine(title)}`]);
  }

  /** Causes carry the end of a server's stderr: its lines stay lines. */
  #report(text: string, hint: string | null | undefined, style: (line: string) => string): void {
    const { terminal } = this.#options;
    const [first = "", ...rest] = visible(text).trimEnd().split("\n");
    const shown = preview(rest, { maxLines: REPORT_LINES, columns: 2_000 });
    this.#endAnswer();
    this.#block("notice");
    for (const line of [style(first), ...shown.map((line) => terminal.palette.dim(`  ${line}`))]) terminal.print(line);
    if (hint) terminal.print(terminal.palette.dim(`  ${visibleLine(hint)}`));
    this.transcript.add([first, ...rest]);
  }

  /** An empty line where something of another kind begins. */
  #block(kind: Block): void {
    if (this.#last !== undefined && (this.#last !== kind || kind === "prompt" || kind === "answer"))
      this.#options.terminal.commit([""]);
    this.#last = kind;
  }

  #commit(lines: readonly string[]): void {
    this.#options.terminal.commit(lines);
    this.transcript.add(lines);
  }
}
