// The terminal client: an ACP client connected to the agent in this process. Answers one prompt, a list of them, or a person.
import { createInterface } from "node:readline";
import { type AgentApp, client, methods, type Stream } from "@agentclientprotocol/sdk";
import { handled } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { sharedLog } from "../../base/ports/world.js";
import { EXIT, exitCodeOf as exitCodeOfError } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import { Screen } from "../terminal/screen.js";
import { type Clock, createPalette, isTerminal, systemClock } from "../terminal/stream.js";
import { visibleLine } from "../terminal/text.js";
import { commandOf, runCommand } from "./commands.js";
import { ElicitationPrompter } from "./elicitation.js";
import { type ChatTerminal, LineReader, QuestionQueue } from "./line-reader.js";
import { PermissionPrompter } from "./permission.js";
import { ChatSession, type JoinOptions } from "./session.js";
import { SharedTurns } from "./shared.js";
import { type ChatView, exitCodeOf, JsonView, TextView, type TurnOutcome, toFailure } from "./view.js";

export interface ChatOptions {
  /** The agent itself, or a stream to it. */
  readonly agent: AgentApp | Stream;
  /** A session of a gateway is joined, instead of a new one opened. */
  readonly join?: Pick<JoinOptions, "choose" | "isWatching">;
  /** Absolute. */
  readonly cwd: string;
  /** Servers that may take long to start: a prompt that cannot be repeated waits for them. */
  readonly slowServers?: readonly string[];
  /** Answer this once and end, instead of reading prompts from the input. */
  readonly prompt?: string;
  /** Print the protocol's updates as NDJSON instead of text for people. */
  readonly json: boolean;
  /** Approve every tool call, but never servers or settings of a project's files. */
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

/** Everything of one chat, composed. */
type Parts = ReturnType<typeof compose>;

/** Resolves with the exit code once the chat is over and its session closed. */
export async function runChat(options: ChatOptions): Promise<number> {
  const parts = compose(options);
  const { interrupts, session, view, clock } = parts;
  const stopHearing = options.onInterrupt(() => interrupts.raise());
  // A reader that closed our output is gone: there is nothing left to print.
  for (const stream of new Set([options.output, options.errorOutput])) stream.on("error", () => interrupts.leave());
  try {
    const opening = openSession(parts).then(() => true);
    if (!(await unlessAborted(opening, interrupts.quit))) return EXIT.interrupted;
    return await converse(parts);
  } catch (error) {
    view.failed(toFailure(error));
    return error instanceof TenonError ? exitCodeOfError(error.code) : EXIT.failed;
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

function compose(options: ChatOptions) {
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
  const shared = options.join && new SharedTurns();
  const isLeaving = shared && (() => interrupts.quit.aborted || reader.hasEnded);
  const queue = new QuestionQueue();
  const terminal: ChatTerminal = { screen, palette, clock, reader, queue, ...defined({ shared, isLeaving }) };
  const permission = new PermissionPrompter(terminal, { consent, isAttended: interactive });
  const elicitation = new ElicitationPrompter(terminal);
  const view: ChatView = json ? new JsonView(output, errorOutput, shared) : new TextView(terminal, isDialogue);
  const app = view
    .listen(client({ name: "tenon-chat" }))
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      const answer = await permission.answer(params, signal);
      if (shared && !signal.aborted) interrupts.disarm();
      return answer;
    })
    .onRequest(methods.client.elicitation.create, ({ params, signal }) => elicitation.answer(params, signal))
    .onNotification(methods.client.elicitation.complete, () => {}); // the person knows
  const session = new ChatSession(app, options.agent, { canBeAsked: interactive });
  return { ...terminal, options, interrupts, view, permission, elicitation, session };
}

async function openSession({ options, session, ...parts }: Parts): Promise<void> {
  const { join, cwd, interactive, yes } = options;
  if (!join) return await session.open(cwd);
  const { shared, view, screen, palette, reader, permission, elicitation, interrupts } = parts;
  if (interactive) {
    // Questions come at any time, and end with the request: who leaves has answered nothing.
    permission.beginTurn(interrupts.quit);
    elicitation.beginTurn(interrupts.quit);
  }
  const isReplayed = interactive || join.isWatching;
  const { meta, id, title } = await session.join({
    ...join,
    isUnattended: yes || !interactive,
    isReplayed,
    onIdentified: (client) => shared?.identify(client),
  });
  shared?.hear(meta);
  view.joined();
  if (!interactive && meta["state"] === "waiting") {
    const words = `Session ${id} waits for an answer, and prompts wait with it: tenon attach in a terminal gives one.`;
    options.errorOutput.write(`${words}\n`);
  }
  if (isReplayed)
    reader.interject(() => screen.line(palette.dim(`Attached to ${visibleLine(title) || "a session"} (${id}).`)));
}

async function converse(parts: Parts): Promise<number> {
  const { prompt, interactive, join } = parts.options;
  if (join?.isWatching) return await watch(parts);
  if (join && interactive) return await attached(parts);
  if (prompt !== undefined || !interactive) await awaitSlowServers(parts);
  if (parts.interrupts.quit.aborted) return EXIT.interrupted;
  if (prompt !== undefined) return (await submit(prompt, parts)).exitCode;
  return interactive ? await dialogue(parts) : await script(parts);
}

/** Shows everything until the person leaves, or there is nothing to be shown any more. */
async function watch({ session, interrupts, screen, palette }: Parts): Promise<number> {
  screen.line(palette.dim("Watching. Ctrl-C leaves; the session goes on."));
  await unlessAborted(
    session.closed.then(() => true),
    interrupts.quit,
  );
  return interrupts.quit.aborted ? EXIT.interrupted : EXIT.failed;
}

/** A person types in a session that others use too: the line is there all the time, and turns of all are shown above it. */
async function attached(parts: Parts): Promise<number> {
  const { interrupts, reader, screen, palette, queue, view } = parts;
  const hint = palette.dim("Type a prompt, or /help. /quit leaves; the session goes on.");
  reader.interject(() => screen.line(hint)); // something may be asked already
  const readLine = () =>
    queue.between(async (yielding) => {
      const resume = screen.hold();
      try {
        const signal = AbortSignal.any([interrupts.quit, yielding]);
        return await reader.question(view.prompt, { signal, vanishes: true });
      } finally {
        resume();
      }
    });
  for (;;) {
    const line = await interrupts.during(() => onInterrupt(parts), readLine);
    if (interrupts.quit.aborted) return EXIT.interrupted;
    if (line === undefined) return EXIT.done;
    if (line.trim() === "") continue;
    interrupts.disarm();
    if (commandOf(line, true) === undefined) handled(sendShared(line, parts), sharedLog(), "send a prompt");
    else if ((await submit(line, parts)).shallQuit) return EXIT.done;
  }
}

/** Ctrl-C stops what the person asked for themselves; the work of others only by /cancel. */
function onInterrupt({ shared, reader, screen, palette, session, view }: Parts): void {
  reader.clear();
  const say = (text: string) => reader.interject(() => screen.line(palette.dim(text)));
  if (shared?.hasOwn) {
    say("Stopping. Ctrl-C again leaves.");
    session.cancel().catch((error: unknown) => view.failed(toFailure(error)));
  } else if (shared?.isBusy) {
    const whose = shared.other === undefined ? "the turn" : `the turn of ${visibleLine(shared.other)}`;
    say(`/cancel stops ${whose}. Ctrl-C again leaves; the work goes on.`);
  } else say("Ctrl-C again leaves; the session goes on.");
}

/** Nobody waits for it: others may be asked, and more be typed, meanwhile. Never rejects. */
async function sendShared(text: string, { shared, session, view, reader, interrupts }: Parts): Promise<void> {
  const outcome = await settled(async (): Promise<TurnOutcome> => {
    const stopReason = await shared?.run((promptId) => session.prompt(text, promptId));
    return { kind: "stopped", stopReason: stopReason ?? "end_turn", wasDenied: false };
  });
  if (!interrupts.quit.aborted && !reader.hasEnded) reader.interject(() => view.turnEnded(outcome));
}

async function settled(work: () => Promise<TurnOutcome>): Promise<TurnOutcome> {
  try {
    return await work();
  } catch (error) {
    return { kind: "failed", failure: toFailure(error) };
  }
}

/** A person types: failures are shown and the chat goes on, until they leave. */
async function dialogue(parts: Parts): Promise<number> {
  const { interrupts, reader, screen, palette } = parts;
  screen.line(palette.dim("Type a prompt, or /help. Ctrl-C stops an answer, twice quits."));
  const hint = () => {
    reader.clear();
    reader.interject(() => screen.line(palette.dim("Ctrl-C again quits.")));
  };
  for (;;) {
    const ask = () => reader.question(palette.cyan("› "), { signal: interrupts.quit });
    const line = await interrupts.during(hint, ask);
    if (interrupts.quit.aborted) return EXIT.interrupted;
    if (line === undefined) return EXIT.done;
    if (line.trim() === "") continue;
    interrupts.disarm();
    const { exitCode, shallQuit } = await submit(line, parts);
    if (shallQuit) return exitCode;
  }
}

/** Each line of the input is a prompt; the first failure decides the exit code of the whole run. */
async function script(parts: Parts): Promise<number> {
  const { options, interrupts, screen, palette } = parts;
  const lines = createInterface({ input: options.input, terminal: false, crlfDelay: Number.POSITIVE_INFINITY });
  const stop = () => lines.close();
  interrupts.quit.addEventListener("abort", stop, { once: true });
  let result: number = EXIT.done;
  for await (const line of lines) {
    if (line.trim() === "") continue;
    screen.line(palette.dim(`› ${visibleLine(line)}`));
    const { exitCode, shallQuit } = await submit(line, parts);
    if (result === EXIT.done) result = exitCode;
    if (shallQuit || exitCode === EXIT.interrupted) break;
  }
  interrupts.quit.removeEventListener("abort", stop);
  return interrupts.quit.aborted ? EXIT.interrupted : result;
}

/** One line of the person: a command of the chat, or a prompt that runs as a turn of the agent. */
async function submit(line: string, parts: Parts) {
  const command = commandOf(line, parts.shared !== undefined);
  if (command === undefined) return await runTurn(line, parts);
  if (command === "quit") return { exitCode: EXIT.done, shallQuit: true };
  try {
    await runCommand(command, parts);
    return { exitCode: EXIT.done, shallQuit: false };
  } catch (error) {
    parts.view.failed(toFailure(error));
    return { exitCode: EXIT.failed, shallQuit: false };
  }
}

async function runTurn(text: string, parts: Parts) {
  const { session, view, permission, elicitation, interrupts, screen, palette } = parts;
  const over = new AbortController();
  const cancelling: Promise<void>[] = [];
  const cancel = () => {
    over.abort();
    screen.line(palette.dim("Stopping. Ctrl-C again quits."));
    cancelling.push(session.cancel());
  };
  permission.beginTurn(over.signal);
  elicitation.beginTurn(over.signal);
  view.turnStarted();
  const outcome = await interrupts.during(cancel, () =>
    settled(async () => {
      const stopReason = await unlessAborted(session.prompt(text), interrupts.quit);
      if (stopReason === undefined) return { kind: "abandoned" };
      return { kind: "stopped", stopReason, wasDenied: permission.wasDenied };
    }),
  );
  // A question left open is answered with "cancelled", so that the agent never waits for a person who has gone.
  over.abort();
  await Promise.allSettled(cancelling);
  view.turnEnded(outcome);
  // An answer that was complete when Ctrl-C came is shown; the exit code still reports the interrupt.
  const exitCode = cancelling.length > 0 ? EXIT.interrupted : exitCodeOf(outcome);
  return { exitCode, shallQuit: outcome.kind === "abandoned" };
}

/** Ctrl-C, once and again: the first one stops what runs, the next one quits. */
class Interrupts {
  readonly #quit = new AbortController();
  #onFirst: (() => void) | undefined;
  #isArmed = false;

  /** Aborts when the person quits. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  /** Where nothing can be stopped, the first interrupt quits already. */
  raise(): void {
    if (this.#isArmed || !this.#onFirst) return this.#quit.abort();
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

/** Resolves with the value, or with undefined once the signal aborts; a later value or failure is dropped. */
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

const LOOK_EVERY_MS = 100;
/** Shorter waits need no message. */
const MESSAGE_AFTER_MS = 2_000;
/** A server that is not even known by now will not be. */
const UNKNOWN_MS = 5_000;
/** `npx` took up to 46 s to fetch a server and its packages. */
const LONGEST_MS = 90_000;

/** Where no person can repeat the prompt, it waits for servers that may have to be downloaded first. */
async function awaitSlowServers({ options, session, interrupts, clock, screen, palette }: Parts): Promise<void> {
  const { slowServers = [] } = options;
  const startedMs = clock.now();
  let isShown = false;
  while (slowServers.length > 0 && !interrupts.quit.aborted) {
    const elapsedMs = clock.now() - startedMs;
    const reports = await session.status();
    const waiting = slowServers.filter((name) => {
      const state = reports.find((report) => report.name === name)?.state;
      return state === undefined ? elapsedMs < UNKNOWN_MS : state === "connecting";
    });
    if (waiting.length === 0 || elapsedMs >= LONGEST_MS) return;
    if (!isShown && elapsedMs >= MESSAGE_AFTER_MS) {
      isShown = true;
      const names = waiting.map((name) => visibleLine(name)).join(", ");
      screen.line(palette.dim(`Waiting for ${names}, which may be downloading. Ctrl-C quits.`));
    }
    const pause = new Promise<true>((resolve) => {
      clock.after(LOOK_EVERY_MS, () => resolve(true));
    });
    await unlessAborted(pause, interrupts.quit);
  }
}
