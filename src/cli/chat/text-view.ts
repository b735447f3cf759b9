// The view for people: the answer as it streams, tool calls and notices as lines around it.
import { type ClientApp, type ContentBlock, methods, type Notice, type SessionUpdate } from "@agentclientprotocol/sdk";
import { formatElapsed } from "../terminal/stream.js";
import { visible, visibleLine } from "../terminal/text.js";
import { describeBlock, preview } from "./describe.js";
import type { ChatTerminal } from "./line-reader.js";
import { ToolCalls } from "./tool-calls.js";
import { type ChatFailure, type ChatView, STOP_TEXTS, type TurnOutcome } from "./view.js";

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
