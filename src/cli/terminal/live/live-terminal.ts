// A terminal with a person at it: keys come in raw mode, finished lines go into the scrollback, and below them are the parts that
// change: what runs, questions, the input line and the status.
import { type Clock, type LinkingPalette, withoutStyles } from "../stream.js";
import { displayWidth } from "../text.js";
import type { CompletionSources } from "./completion.js";
import { Editor } from "./editor.js";
import { InputLine, type InputLineOptions } from "./input-line.js";
import { type Key, KeyDecoder } from "./keys.js";
import { Menu, type MenuQuestion, QUIET_MS } from "./menu.js";
import { type Frame, LiveRegion, type WindowSize } from "./region.js";
import { wrapStyled } from "./wrap-styled.js";

/** What changes while it is shown. */
export interface LivePart {
  /** Lines no wider than `columns`. */
  render(columns: number, spinner: string): readonly string[];
}

/** From top to bottom. */
export const PLACES = ["answer", "calls", "waiting", "plan", "queue"] as const;
export type Place = (typeof PLACES)[number];

/** Something that takes the whole window until it is left. */
export interface Overlay {
  render(size: WindowSize): readonly string[];
  /** False when it is to be left. */
  press(key: Key): boolean;
}

interface TerminalInput extends NodeJS.ReadableStream {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
  ref?(): unknown;
  unref?(): unknown;
}

export interface LiveTerminalOptions extends Pick<InputLineOptions, "history"> {
  readonly input: TerminalInput;
  readonly output: NodeJS.WritableStream;
  readonly palette: LinkingPalette;
  readonly clock: Clock;
  /** Whether there is a line to type in; without it questions are asked all the same. */
  readonly hasInputLine: boolean;
}

type Question = {
  readonly settle: (answer: string | number | undefined) => void;
  /** Keys count from now on. */
  isArmed: boolean;
} & (
  | { readonly kind: "menu"; readonly menu: Menu }
  | { readonly kind: "text"; readonly prompt: string; readonly editor: Editor }
);

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const SPIN_MS = 80;
/** What changes by itself is drawn 12 times a second, as often as the spinner turns; what is typed, at once. */
const FRAME_MS = SPIN_MS;
/** This much before its time a frame is due. */
const EARLY_MS = 8;
const KEY_MS = 4;
/** A lone escape character is the key when nothing follows it within this. */
const ESCAPE_MS = 40;
/** A paste of which nothing more comes for this long is over, though its end was lost. */
const PASTE_MS = 1_000;
const HINT_MS = 1_500;

/** Bracketed paste, focus reports, and keys with their modifiers where the terminal knows that (kitty's protocol, xterm's). */
const ENTER_MODES = "\u001b[?2004h\u001b[?1004h\u001b[>1u\u001b[>4;1m";
const LEAVE_MODES = "\u001b[>4;0m\u001b[<u\u001b[?1004l\u001b[?2004l";
const ENTER_WINDOW = "\u001b[?1049h";
const LEAVE_WINDOW = "\u001b[?1049l";

export class LiveTerminal {
  readonly line: InputLine;
  readonly palette: LinkingPalette;
  /** Texts that were submitted and have not been taken. */
  readonly queued: string[] = [];
  /** Keys that are not about the text: `ctrl-c`, `escape`, `backtab`, `ctrl-o` and the like. */
  onKey: (name: string) => void = () => {};
  /** Whether Esc stops something now. */
  canStop: () => boolean = () => false;
  /** True when a text needs no turn and was dealt with at once. */
  onSubmit: (text: string) => boolean = () => false;
  /** What can be completed. */
  sources: CompletionSources = { commands: () => [], files: () => [] };
  /** What stands in the last line. */
  status: () => string = () => "";
  isFocused: boolean | undefined;
  readonly #options: LiveTerminalOptions;
  readonly #region: LiveRegion;
  readonly #decoder = new KeyDecoder();
  readonly #parts: { readonly place: Place; readonly part: LivePart }[] = [];
  #committed: string[] = [];
  #question: Question | undefined;
  #overlay: Overlay | undefined;
  #hint: string | undefined;
  #stopHint: () => void = () => {};
  #takers: ((text: string | undefined) => void)[] = [];
  #stopFrame: () => void = () => {};
  /** When the next frame is drawn. */
  #frameMs = Number.POSITIVE_INFINITY;
  #paintedMs = Number.NEGATIVE_INFINITY;
  #stopSpin: (() => void) | undefined;
  #stopEscape: () => void = () => {};
  #stopArm: () => void = () => {};
  #frame = 0;
  #lastKeyMs = Number.NEGATIVE_INFINITY;
  /** When the last question got its answer. */
  #answeredMs = Number.NEGATIVE_INFINITY;
  #isOn = false;
  #isPainting = false;
  /** Of the frame that is being drawn. */
  #paintedSize: WindowSize = { columns: 80, rows: 24 };
  /** Until then asking for a frame changes nothing: the next one is scheduled. */
  #settledMs = 0;
  #hasEnded = false;

  constructor(options: LiveTerminalOptions) {
    this.#options = options;
    this.palette = options.palette;
    this.#region = new LiveRegion(
      (text) => this.write(text),
      () => this.size,
    );
    this.line = new InputLine({
      ...options,
      sources: { commands: () => this.sources.commands(), files: () => this.sources.files() },
    });
  }

  get columns(): number {
    return this.size.columns;
  }

  get size(): WindowSize {
    return this.#isPainting ? this.#paintedSize : this.#measured();
  }

  #measured(): WindowSize {
    const { output } = this.#options;
    const known = (name: "columns" | "rows", otherwise: number) => {
      const value: unknown = Reflect.get(output, name);
      return typeof value === "number" && value > 0 ? value : otherwise;
    };
    return { columns: known("columns", 80), rows: known("rows", 24) };
  }

  /** Nobody will type any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isAsking(): boolean {
    return this.#question !== undefined;
  }

  start(): void {
    const { input, output } = this.#options;
    this.#enter();
    input.setEncoding("utf8");
    input.on("data", this.#onData);
    input.on("end", this.#onEnd);
    output.on("resize", this.#onResize);
    input.resume();
    this.draw();
  }

  /** Leaves nothing of the changing lines, and the terminal as it was. */
  stop(): void {
    const { input, output } = this.#options;
    if (!this.#isOn) return;
    // Lines that came behind it go into the terminal's own history.
    if (this.#overlay) this.write(LEAVE_WINDOW);
    this.#overlay = undefined;
    try {
      this.#paint();
      this.#region.erase();
    } catch {
      // Whatever cannot be drawn: the terminal is given back all the same.
    }
    this.#leave();
    for (const stop of [this.#stopFrame, this.#stopSpin, this.#stopEscape, this.#stopHint, this.#stopArm]) stop?.();
    this.#frameMs = Number.POSITIVE_INFINITY;
    this.#stopSpin = undefined;
    input.off("data", this.#onData);
    input.off("end", this.#onEnd);
    output.off("resize", this.#onResize);
    input.pause();
    input.unref?.();
  }

  /** Runs what needs the terminal for itself. */
  async outside<T>(work: () => Promise<T>): Promise<T> {
    const { input } = this.#options;
    this.#paint();
    this.#region.erase();
    this.#leave();
    this.#disarm();
    this.#stopEscape();
    this.#decoder.reset(); // the rest goes to somebody else
    input.off("data", this.#onData);
    input.pause();
    try {
      return await work();
    } finally {
      input.on("data", this.#onData);
      input.resume();
      this.#enter();
      this.#region.forget();
      this.#shownAgain();
      this.draw();
    }
  }

  /** Finished lines, styled; longer ones are broken between words. */
  commit(lines: readonly string[]): void {
    for (const line of lines) this.#committed.push(line);
    this.draw();
  }

  /** A message: broken between words where it is too long, its other lines indented as its first. */
  print(line: string): void {
    const plain = withoutStyles(line);
    const indent = /^\s*(?:[·!?✓✗–›•] )?/u.exec(plain)?.[0].length ?? 0;
    this.commit(displayWidth(plain) <= this.columns ? [line] : wrapStyled(line, this.columns, indent));
  }

  /** Shows a part until the returned function is called. */
  show(place: Place, part: LivePart): () => void {
    const entry = { place, part };
    this.#parts.push(entry);
    this.draw();
    return () => {
      const at = this.#parts.indexOf(entry);
      if (at >= 0) this.#parts.splice(at, 1);
      this.draw();
    };
  }

  /** Turns the spinner until the returned function is called. */
  spin(): () => void {
    this.#spinners += 1;
    this.#stopSpin ??= this.#options.clock.every(SPIN_MS, () => {
      this.#frame = (this.#frame + 1) % FRAMES.length;
      this.#paint();
    });
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#spinners -= 1;
      if (this.#spinners > 0) return;
      this.#stopSpin?.();
      this.#stopSpin = undefined;
    };
  }
  #spinners = 0;

  /** In place of the status, for a moment. */
  hint(text: string): void {
    this.#hint = text;
    this.#stopHint();
    this.#stopHint = this.#options.clock.after(HINT_MS, () => {
      this.#hint = undefined;
      this.draw();
    });
    this.draw();
  }

  /** The next text that was submitted; undefined at the end of the input, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<string | undefined> {
    const first = this.queued.shift();
    if (first !== undefined) this.draw();
    if (first !== undefined || this.#hasEnded || signal.aborted) return first;
    return await new Promise((resolve) => {
      const settle = (text: string | undefined) => {
        signal.removeEventListener("abort", onAbort);
        this.#takers = this.#takers.filter((taker) => taker !== settle);
        resolve(text);
      };
      const onAbort = () => settle(undefined);
      signal.addEventListener("abort", onAbort, { once: true });
      this.#takers.push(settle);
    });
  }

  /** The index of the chosen answer; undefined when the signal aborts or the input ends. */
  async choose(question: MenuQuestion, signal: AbortSignal): Promise<number | undefined> {
    const menu = new Menu(question, this.palette);
    const answer = await this.#ask(signal, (settle) => ({ kind: "menu", menu, settle, isArmed: false }));
    return typeof answer === "number" ? answer : undefined;
  }

  /** A line of text; undefined when the signal aborts or the input ends. */
  async question(
    prompt: string,
    { signal, isNext = false }: { readonly signal: AbortSignal; readonly isNext?: boolean },
  ): Promise<string | undefined> {
    const editor = new Editor();
    const { clock } = this.#options;
    // The person has just answered what came before it in the same form, and types on.
    const isArmed = isNext && this.#isOn && !this.#overlay && clock.now() - this.#answeredMs < QUIET_MS;
    const answer = await this.#ask(signal, (settle) => ({ kind: "text", prompt, editor, settle, isArmed }));
    return typeof answer === "string" ? answer : undefined;
  }

  async #ask(
    signal: AbortSignal,
    make: (settle: Question["settle"]) => Question,
  ): Promise<string | number | undefined> {
    if (signal.aborted || this.#hasEnded) return undefined;
    return await new Promise((resolve) => {
      const settle: Question["settle"] = (answer) => {
        signal.removeEventListener("abort", onAbort);
        this.#question = undefined;
        this.draw();
        resolve(answer);
      };
      const onAbort = () => settle(undefined);
      signal.addEventListener("abort", onAbort, { once: true });
      const question = make(settle);
      this.#question = question;
      if (!question.isArmed) this.#arm(question);
      this.draw();
    });
  }

  /** Once nobody has typed for a moment. What hides the question is left first: nobody answers what they cannot see. */
  #arm(question: Question): void {
    this.#stopArm();
    if (!this.#isOn || this.#overlay) return;
    this.#stopArm = this.#options.clock.after(QUIET_MS, () => {
      if (this.#question !== question) return;
      if (this.#options.clock.now() - this.#lastKeyMs < QUIET_MS) return this.#arm(question);
      setArmed(question, true);
      this.draw();
    });
  }

  /** Something hides the question. */
  #disarm(): void {
    this.#stopArm();
    if (this.#question) setArmed(this.#question, false);
  }

  /** What hid the question is gone: it is as if it had just been asked. */
  #shownAgain(): void {
    this.#disarm();
    this.#lastKeyMs = this.#options.clock.now();
    if (this.#question) this.#arm(this.#question);
  }

  /** As if the input had ended. */
  end(): void {
    this.#onEnd();
  }

  /** Until it is left by its own keys. */
  open(overlay: Overlay): void {
    this.#paint();
    this.#overlay = overlay;
    this.#disarm();
    this.write(ENTER_WINDOW);
    this.#paint();
  }

  /** In the next frame, however often it is asked for. */
  draw(): void {
    if (!this.#isOn || this.#isPainting || this.#settledMs === Number.POSITIVE_INFINITY) return;
    const nowMs = this.#options.clock.now();
    if (nowMs < this.#settledMs) return;
    // Where one is due it comes with what asked for it: a timer of its own would wake the process once more.
    const dueMs = this.#paintedMs + FRAME_MS - EARLY_MS;
    const isDue = nowMs >= dueMs && !this.#stopSpin; // each turn of the spinner is a frame
    this.#settledMs = isDue ? Number.POSITIVE_INFINITY : dueMs;
    this.#drawAt(isDue ? nowMs : dueMs + 2 * EARLY_MS, nowMs);
  }

  /** Unless a frame comes before that. */
  #drawAt(atMs: number, nowMs: number): void {
    if (!this.#isOn || this.#isPainting || atMs >= this.#frameMs) return;
    this.#stopFrame();
    this.#frameMs = atMs;
    this.#stopFrame = this.#options.clock.after(atMs - nowMs, this.#paintNext);
  }

  readonly #paintNext = (): void => this.#paint();

  write(text: string): void {
    this.#options.output.write(text);
  }

  /** The screen is written anew, as far as it is ours. */
  redraw(): void {
    this.#region.resized();
    this.draw();
  }

  #paint(): void {
    this.#stopFrame();
    this.#frameMs = Number.POSITIVE_INFINITY;
    this.#settledMs = 0;
    if (!this.#isOn) return;
    this.#paintedMs = this.#options.clock.now();
    if (this.#overlay) {
      const { rows } = this.size;
      const lines = this.#overlay.render(this.size).slice(0, rows);
      this.write(`\u001b[?2026h\u001b[H${lines.map((line) => `\u001b[2K${line}`).join("\r\n")}\u001b[J\u001b[?2026l`);
      return;
    }
    this.#paintedSize = this.#measured();
    const { columns, rows } = this.#paintedSize;
    this.#isPainting = true; // parts hand out finished lines while they are drawn
    const spinner = FRAMES[this.#frame] ?? FRAMES[0];
    const lines: string[] = [];
    try {
      for (const place of PLACES)
        for (const { place: at, part } of this.#parts)
          if (at === place) for (const line of part.render(columns, spinner)) lines.push(line);
    } finally {
      this.#isPainting = false;
    }
    const input = this.#inputFrame(columns, rows);
    if (input.lines.length > 0) lines.push("");
    const cursor = input.cursor && { row: input.cursor.row + lines.length, column: input.cursor.column };
    lines.push(...input.lines);
    const status = this.#hint ?? this.status();
    if (status !== "") lines.push(this.palette.dim(status));
    const committed = this.#committed;
    this.#committed = [];
    this.#region.draw(committed, { lines, cursor });
  }

  #inputFrame(columns: number, rows: number): Frame {
    const question = this.#question;
    if (question?.kind === "menu") {
      const around = 3; // the gap above, the status, and the line that a terminal keeps
      return { lines: question.menu.render(columns, { rows: rows - around, canStop: this.canStop() }) };
    }
    if (question?.kind === "text") {
      // As a menu does: keys do not count yet.
      if (!question.isArmed && question.editor.isEmpty) return { lines: [this.palette.dim("  …")] };
      const width = displayWidth(withoutStyles(question.prompt));
      const { lines, row, column } = question.editor.view(question.prompt, width, columns);
      return { lines, cursor: { row, column } };
    }
    return this.#options.hasInputLine ? this.line.render(columns, rows) : { lines: [] };
  }

  readonly #onData = (chunk: string | Buffer): void => {
    this.#stopEscape();
    for (const key of this.#decoder.push(chunk.toString())) this.#press(key);
    const { isWaiting, isPasting } = this.#decoder;
    if (!isWaiting && !isPasting) return;
    this.#stopEscape = this.#options.clock.after(isPasting ? PASTE_MS : ESCAPE_MS, () => {
      for (const key of this.#decoder.flush()) this.#press(key);
    });
  };

  readonly #onEnd = (): void => {
    this.#hasEnded = true;
    this.#question?.settle(undefined);
    for (const settle of this.#takers) settle(undefined);
  };

  readonly #onResize = (): void => {
    if (!this.#overlay) this.#region.resized();
    this.#paint();
  };

  #press(key: Key): void {
    const { clock } = this.#options;
    if (key.kind === "focus") {
      this.isFocused = key.isFocused;
      return;
    }
    const question = this.#question;
    if (this.#overlay) {
      this.#lastKeyMs = clock.now();
      if (!this.#overlay.press(key)) {
        this.#overlay = undefined;
        this.write(LEAVE_WINDOW);
        this.#shownAgain();
      }
      this.#paint();
      return;
    }
    const name = key.kind === "key" ? nameOf(key) : "";
    if (question && name !== "ctrl-c" && name !== "ctrl-o") {
      const isArmed = question.isArmed;
      this.#lastKeyMs = clock.now();
      if (isArmed) this.#pressInQuestion(question, key, name);
      else if (this.#options.hasInputLine && name !== "escape") this.line.editor.press(key); // typed ahead: it is no answer
    } else {
      this.#lastKeyMs = clock.now();
      this.#pressInLine(key, name);
    }
    const nowMs = clock.now();
    this.#drawAt(nowMs + KEY_MS, nowMs);
  }

  #pressInQuestion(question: Question, key: Key, name: string): void {
    if (name === "escape") return this.onKey(name);
    const answer = question.kind === "menu" ? question.menu.press(key) : textAnswer(question.editor, key, name);
    if (answer === undefined) return;
    this.#answeredMs = this.#options.clock.now();
    question.settle(answer);
  }

  #pressInLine(key: Key, name: string): void {
    if (!this.#options.hasInputLine) return this.onKey(name);
    const isEmpty = this.line.editor.isEmpty;
    if (name === "ctrl-d" && isEmpty) return this.#onEnd();
    if (name === "up" && isEmpty && this.queued.length > 0) return this.line.editor.set(this.queued.pop() ?? "");
    const pressed = this.line.press(key);
    if (pressed.kind === "submit") this.#submit(pressed.text);
    else if (pressed.kind === "free" && name !== "") this.onKey(name);
  }

  #submit(text: string): void {
    if (this.onSubmit(text)) return;
    const [taker] = this.#takers;
    if (taker) taker(text);
    else this.queued.push(text);
  }

  #enter(): void {
    const { input } = this.#options;
    input.setRawMode?.(true);
    this.write(ENTER_MODES);
    this.#isOn = true;
  }

  #leave(): void {
    const { input } = this.#options;
    if (this.#overlay) this.write(LEAVE_WINDOW);
    this.#overlay = undefined;
    this.write(LEAVE_MODES);
    input.setRawMode?.(false);
    this.#isOn = false;
  }
}

function setArmed(question: Question, isArmed: boolean): void {
  question.isArmed = isArmed;
  if (question.kind === "menu") question.menu.isArmed = isArmed;
}

function textAnswer(editor: Editor, key: Key, name: string): string | undefined {
  return editor.press(key) || name !== "enter" ? undefined : editor.whole;
}

function nameOf({ name, ctrl, alt, shift }: Extract<Key, { kind: "key" }>): string {
  return `${ctrl ? "ctrl-" : ""}${alt ? "alt-" : ""}${shift ? "shift-" : ""}${name}`;
}
