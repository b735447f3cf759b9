// The terminal client: an ACP client connected to the agent in this process. Answers one prompt, a list of them, or a person.
import { createInterface } from "node:readline";
import { type AgentApp, client, methods, type Stream } from "@agentclientprotocol/sdk";
import { CLI_LIMITS } from "../limits.js";
import { Screen } from "../terminal/screen.js";
import { type Clock, createPalette, isTerminal, type Palette, systemClock } from "../terminal/stream.js";
import { visibleLine } from "../terminal/text.js";
import { commandOf, runCommand } from "./commands.js";
import { ElicitationPrompter } from "./elicitation.js";
import { LineReader, QuestionQueue } from "./line-reader.js";
import { PermissionPrompter } from "./permission.js";
import { ChatSession, type ServerReport } from "./session.js";
import { TextView } from "./text-view.js";
import { type ChatView, EXIT_CODES, exitCodeOf, JsonView, type TurnOutcome, toFailure } from "./view.js";

/** Everything of one chat, composed. */
interface Parts {
  readonly options: ChatOptions;
  readonly clock: Clock;
  readonly interrupts: Interrupts;
  readonly palette: Palette;
  readonly screen: Screen;
  readonly reader: LineReader;
  readonly view: ChatView;
  readonly desk: PermissionPrompter;
  readonly elicitation: ElicitationPrompter;
  readonly session: ChatSession;
}

/** Resolves with the exit code once the chat is over and its session closed. */
export async function runChat(options: ChatOptions): Promise<number> {
  const parts = compose(options);
  const { interrupts, session, view, clock } = parts;
  const stopHearing = options.onInterrupt(() => interrupts.raise());
  // Whoever read our output has gone: nothing is left to say.
  for (const stream of new Set([options.output, options.errorOutput])) stream.on("error", () => interrupts.leave());
  try {
    const opening = session.open(options.cwd).then(() => true);
    if (!(await unlessAborted(opening, interrupts.quit))) return EXIT_CODES.interrupted;
    return await converse(parts);
  } catch (error) {
    view.failed(toFailure(error));
    return EXIT_CODES.failed;
  } finally {
    let stopTimer = () => {};
    const hurry = new Promise<void>((resolve) => {
      stopTimer = clock.after(CLI_LIMITS.shutdownMs, resolve);
    });
    await session.close(hurry);
    stopTimer();
    stopHearing();
  }
}

function compose(options: ChatOptions): Parts {
  const { json, yes, prompt, interactive, output, errorOutput } = options;
  const clock = options.clock ?? systemClock;
  const isDialogue = interactive && prompt === undefined;
  const main = json ? errorOutput : output;
  const side = isDialogue ? main : errorOutput;
  const palette = createPalette(options.color && (side === output || isTerminal(side)));
  const interrupts = new Interrupts();
  const screen = new Screen({ main, side, clock });
  const reader = new LineReader({ input: options.input, output: side, onInterrupt: () => interrupts.raise() });
  const consent = yes ? "approve" : interactive ? "ask" : "deny";
  const queue = new QuestionQueue();
  const desk = new PermissionPrompter({ consent, isAttended: interactive, screen, palette, reader, queue });
  const elicitation = new ElicitationPrompter({ screen, palette, reader, queue });
  const view = json
    ? new JsonView(output, errorOutput)
    : new TextView({ screen, palette, clock, isTalkative: isDialogue, interject: (write) => reader.interject(write) });
  const app = view
    .listen(client({ name: "tenon-chat" }))
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) => desk.answer(params, signal))
    .onRequest(methods.client.elicitation.create, ({ params, signal }) => elicitation.answer(params, signal))
    .onNotification(methods.client.elicitation.complete, () => {}); // the person knows
  const session = new ChatSession(app, options.agent, { canBeAsked: interactive });
  return { options, clock, interrupts, palette, screen, reader, view, desk, elicitation, session };
}

async function converse(parts: Parts): Promise<number> {
  const { prompt, interactive } = parts.options;
  const conversation = new Conversation(parts);
  if (prompt !== undefined || !interactive) await awaitSlowServers(parts);
  if (parts.interrupts.quit.aborted) return EXIT_CODES.interrupted;
  if (prompt !== undefined) return (await conversation.submit(prompt)).exitCode;
  return interactive ? await dialogue(conversation, parts) : await script(conversation, parts);
}

async function awaitSlowServers({ options, session, interrupts, ...rest }: Parts): Promise<void> {
  const { slowServers = [] } = options;
  await awaitServers({ ...rest, servers: slowServers, status: () => session.status(), quit: interrupts.quit });
}

/** A person types: failures are shown and the chat goes on, until they leave. */
async function dialogue(conversation: Conversation, { interrupts, reader, screen, palette }: Parts): Promise<number> {
  screen.line(palette.dim("Type a prompt, or /help. Ctrl-C stops an answer, twice quits."));
  const hint = () => {
    reader.clear();
    reader.interject(() => screen.line(palette.dim("Ctrl-C again quits.")));
  };
  for (;;) {
    const ask = () => reader.question(palette.cyan("› "), { signal: interrupts.quit });
    const line = await interrupts.during(hint, ask);
    if (interrupts.quit.aborted) return EXIT_CODES.interrupted;
    if (line === undefined) return EXIT_CODES.done;
    if (line.trim() === "") continue;
    interrupts.disarm();
    const { exitCode, shallQuit } = await conversation.submit(line);
    if (shallQuit) return exitCode;
  }
}

/** Each line of the input is a prompt; the first failure is what the whole run reports. */
async function script(conversation: Conversation, { options, interrupts, screen, palette }: Parts): Promise<number> {
  const lines = createInterface({ input: options.input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY });
  const stop = () => lines.close();
  interrupts.quit.addEventListener("abort", stop, { once: true });
  let result: number = EXIT_CODES.done;
  for await (const line of lines) {
    if (line.trim() === "") continue;
    screen.line(palette.dim(`› ${visibleLine(line)}`));
    const { exitCode, shallQuit } = await conversation.submit(line);
    if (result === EXIT_CODES.done) result = exitCode;
    if (shallQuit || exitCode === EXIT_CODES.interrupted) break;
  }
  interrupts.quit.removeEventListener("abort", stop);
  return interrupts.quit.aborted ? EXIT_CODES.interrupted : result;
}

// What the terminal client is given: the agent to talk to, the streams of the person, and how it shall behave.

export interface ChatOptions {
  /** The agent itself, or what leads to it. */
  readonly agent: AgentApp | Stream;
  /** Absolute. */
  readonly cwd: string;
  /** Servers that may take long to start: a prompt that nobody repeats waits for them. */
  readonly slowServers?: readonly string[];
  /** Answer this once and end, instead of reading prompts from the input. */
  readonly prompt?: string;
  /** Print the protocol's updates as NDJSON instead of text for people. */
  readonly json: boolean;
  /** Approve every tool call. What a project's files bring is never approved by this. */
  readonly yes: boolean;
  /** A person sits at the input and can be asked. */
  readonly interactive: boolean;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly errorOutput: NodeJS.WritableStream;
  readonly color: boolean;
  /** Calls the listener at each Ctrl-C or SIGINT; returns the way to stop. */
  readonly onInterrupt: (listener: () => void) => () => void;
  readonly clock?: Clock;
}

// One line of the person: a command of the chat, or a prompt that runs as a turn of the agent.

export interface ConversationOptions {
  readonly session: ChatSession;
  readonly view: ChatView;
  readonly desk: PermissionPrompter;
  readonly elicitation: ElicitationPrompter;
  readonly interrupts: Interrupts;
  readonly screen: Screen;
  readonly palette: Palette;
}

export interface Submission {
  readonly exitCode: number;
  readonly shallQuit: boolean;
}

class Conversation {
  readonly #options: ConversationOptions;

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  async submit(line: string): Promise<Submission> {
    const command = commandOf(line);
    if (command !== undefined) return await this.#command(command);
    const { outcome, wasInterrupted } = await this.#turn(line);
    this.#options.view.turnEnded(outcome);
    // An answer that was complete when Ctrl-C came is shown; who runs us is told of the interrupt all the same.
    return {
      exitCode: wasInterrupted ? EXIT_CODES.interrupted : exitCodeOf(outcome),
      shallQuit: outcome.kind === "abandoned",
    };
  }

  async #command(command: string): Promise<Submission> {
    const { session, view, screen, palette } = this.#options;
    try {
      const next = await runCommand(command, { screen, palette, status: () => session.status() });
      return { exitCode: EXIT_CODES.done, shallQuit: next === "quit" };
    } catch (error) {
      view.failed(toFailure(error));
      return { exitCode: EXIT_CODES.failed, shallQuit: false };
    }
  }

  async #turn(text: string): Promise<{ outcome: TurnOutcome; wasInterrupted: boolean }> {
    const { session, view, desk, elicitation, interrupts, screen, palette } = this.#options;
    const over = new AbortController();
    const cancelling: Promise<void>[] = [];
    const cancel = () => {
      over.abort();
      screen.line(palette.dim("Stopping. Ctrl-C again quits."));
      cancelling.push(session.cancel());
    };
    desk.beginTurn(over.signal);
    elicitation.beginTurn(over.signal);
    view.turnStarted();
    const outcome = await interrupts.during(cancel, () => this.#prompt(text));
    // A question left open is answered with "cancelled", so that the agent never waits for a person who has gone.
    over.abort();
    await Promise.allSettled(cancelling);
    return { outcome, wasInterrupted: cancelling.length > 0 };
  }

  async #prompt(text: string): Promise<TurnOutcome> {
    const { session, desk, interrupts } = this.#options;
    try {
      const stopReason = await unlessAborted(session.prompt(text), interrupts.quit);
      if (stopReason === undefined) return { kind: "abandoned" };
      return { kind: "stopped", stopReason, wasDenied: desk.wasDenied };
    } catch (error) {
      return { kind: "failed", failure: toFailure(error) };
    }
  }
}

// Ctrl-C, once and again: the first one stops what runs, the next one quits.

export class Interrupts {
  readonly #quit = new AbortController();
  #onFirst: (() => void) | undefined;
  #isArmed = false;

  /** Aborts when the person quits. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  /** Where nothing can be stopped, the first interrupt quits already. */
  raise(): void {
    if (this.#isArmed || !this.#onFirst) {
      this.#quit.abort();
      return;
    }
    this.#isArmed = true;
    this.#onFirst();
  }

  /** Quits at once, without a first interrupt. */
  leave(): void {
    this.#quit.abort();
  }

  /** The person has done something else since: the next interrupt is a first one again. */
  disarm(): void {
    this.#isArmed = false;
  }

  /** Runs `work`, during which the first interrupt is `onFirst`. */
  async during<T>(onFirst: () => void, work: () => Promise<T>): Promise<T> {
    const outer = this.#onFirst;
    this.#onFirst = onFirst;
    try {
      return await work();
    } finally {
      this.#onFirst = outer;
    }
  }
}

/** Resolves with the value, or with undefined once the signal aborts; what comes later is dropped, failures included. */
async function unlessAborted<T extends {} | null>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let onAbort = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

// Where nobody can simply ask again, the first prompt waits for servers that may have to download themselves first.

export interface PatienceOptions {
  readonly servers: readonly string[];
  readonly status: () => Promise<readonly ServerReport[]>;
  readonly clock: Clock;
  readonly screen: Screen;
  readonly palette: Palette;
  readonly quit: AbortSignal;
}

const LOOK_EVERY_MS = 100;
/** Shorter waits need no words. */
const TELL_AFTER_MS = 2_000;
/** A server that is not even known by now will not be. */
const UNKNOWN_MS = 5_000;
/** `npx` took up to 46 s to fetch a server and what it needs. */
const LONGEST_MS = 90_000;

async function awaitServers(options: PatienceOptions): Promise<void> {
  const { servers, status, clock, screen, palette, quit } = options;
  const startedMs = clock.now();
  let isTold = false;
  while (servers.length > 0 && !quit.aborted) {
    const elapsedMs = clock.now() - startedMs;
    const reports = await status();
    const waiting = servers.filter((name) => {
      const state = reports.find((report) => report.name === name)?.state;
      return state === undefined ? elapsedMs < UNKNOWN_MS : state === "connecting";
    });
    if (waiting.length === 0 || elapsedMs >= LONGEST_MS) return;
    if (!isTold && elapsedMs >= TELL_AFTER_MS) {
      isTold = true;
      const names = waiting.map((name) => visibleLine(name)).join(", ");
      screen.line(palette.dim(`Waiting for ${names}, which may be downloading. Ctrl-C quits.`));
    }
    const pause = new Promise<true>((resolve) => {
      clock.after(LOOK_EVERY_MS, () => resolve(true));
    });
    await unlessAborted(pause, quit);
  }
}
