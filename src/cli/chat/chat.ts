// The terminal client: an ACP client connected to the agent in this process. Answers one prompt, a list of them, or a person.
import { createInterface } from "node:readline";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { handled } from "../../base/async/scope.js";
import { TenonError } from "../../base/errors.js";
import { defined } from "../../base/json/defined.js";
import { sharedLog } from "../../base/ports/world.js";
import { EXIT, exitCodeOf as exitCodeOfError } from "../exit.js";
import { CLI_LIMITS } from "../limits.js";
import { visible, visibleLine } from "../terminal/text.js";
import { type ChatCommand, type CommandPorts, commandOf, refusalOf } from "./commands.js";
import { unlessAborted } from "./interrupts.js";
import { beginLive, endLive, stopTyping } from "./live-chat.js";
import { preparePrompt } from "./mentions.js";
import { openSession, resumeWords } from "./opening.js";
import { type ChatOptions, composeParts, type Parts } from "./parts.js";
import { runShell } from "./shell.js";
import { exitCodeOf, type TurnOutcome, toFailure } from "./view.js";

export type { ChatOptions } from "./parts.js";

/** Resolves with the exit code once the chat is over and its session closed. */
export async function runChat(options: ChatOptions): Promise<number> {
  const parts = composeParts(options);
  const { interrupts, session, view, clock } = parts;
  const stopHearing = options.onInterrupt(() => interrupts.raise());
  // A reader that closed our output is gone: there is nothing left to print.
  for (const stream of new Set([options.output, options.errorOutput])) stream.on("error", () => interrupts.leave());
  beginLive(parts, {
    ports: () => portsOf(parts),
    run: (command) => runNow(command, parts),
    stop: () => (parts.record.stop ? parts.record.stop() : stopShared(parts)),
  });
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
    const farewell = resumeWords(parts);
    view.isLeaving = true;
    endLive(parts, farewell);
    await session.close(hurry);
    stopTimer();
    stopHearing();
  }
}

async function converse(parts: Parts): Promise<number> {
  const { prompt, interactive, join, first } = parts.options;
  if (join?.isWatching) return await watch(parts);
  if (join && interactive) return await attached(parts);
  if (prompt !== undefined || !interactive) await awaitSlowServers(parts);
  if (parts.interrupts.quit.aborted) return EXIT.interrupted;
  if (prompt !== undefined) return (await submit(prompt, parts)).exitCode;
  if (!interactive) return await script(parts);
  return await dialogue(parts, first);
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
  const { interrupts, reader, screen, palette, options } = parts;
  const hint = palette.dim("Type a prompt, or /help. /quit leaves; the session goes on.");
  if (!options.live) reader.interject(() => screen.line(hint)); // something may be asked already
  for (;;) {
    const line = await interrupts.during(
      () => stopShared(parts),
      () => nextLine(parts),
    );
    if (interrupts.quit.aborted) return EXIT.interrupted;
    if (line === undefined) return EXIT.done;
    if (line.trim() === "") continue;
    interrupts.disarm();
    if (commandOf(line, true) || refusalOf(line, parts.record, true) !== undefined || isForShell(line)) {
      if ((await submit(line, parts)).shallQuit) return EXIT.done;
    } else handled(sendShared(line, parts), sharedLog(), "send a prompt");
  }
}

/** Undefined at the end of the input. */
async function nextLine(parts: Parts): Promise<string | undefined> {
  const { options, interrupts, queue, plainReader, view } = parts;
  if (options.live) return await options.live.next(interrupts.quit);
  if (!parts.shared) return await plainReader?.question(view.prompt, { signal: interrupts.quit });
  return await queue.between(async (yielding) => {
    return await plainReader?.question(view.prompt, {
      signal: AbortSignal.any([interrupts.quit, yielding]),
      vanishes: true,
    });
  });
}

/** Ctrl-C and Esc stop what the person asked for themselves; the work of others only by /cancel. */
function stopShared({ shared, interrupts, reader, screen, palette, session, view, options }: Parts): void {
  const isFirst = interrupts.isArmed;
  const say = (text: string) => reader.interject(() => screen.line(palette.dim(text)));
  const hint = (text: string) => (options.live ? options.live.hint(text) : say(text));
  if (shared?.hasOwn) {
    hint(isFirst ? "Stopping. Ctrl-C again leaves." : "Stopping.");
    session.cancel().catch((error: unknown) => view.failed(toFailure(error)));
  } else if (shared?.isBusy) {
    const whose = shared.other === undefined ? "the turn" : `the turn of ${visibleLine(shared.other)}`;
    say(`/cancel stops ${whose}.${isFirst ? " Ctrl-C again leaves; the work goes on." : ""}`);
  } else if (isFirst) hint("Ctrl-C again leaves; the session goes on.");
}

/** Nobody waits for it: others may be asked, and more be typed, meanwhile. Never rejects. */
async function sendShared(text: string, parts: Parts): Promise<void> {
  const { shared, session, view, reader, interrupts, liveView } = parts;
  liveView?.prompted(text);
  const outcome = await settled(async (): Promise<TurnOutcome> => {
    const blocks = await blocksOf(text, parts);
    const answer = await shared?.run((promptId) => session.prompt(blocks, promptId));
    if (answer) parts.record.turnEnded(answer.usage);
    return { kind: "stopped", stopReason: answer?.stopReason ?? "end_turn", wasDenied: false };
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
async function dialogue(parts: Parts, first: string | undefined): Promise<number> {
  const { interrupts, screen, palette, reader, options } = parts;
  if (!options.live) screen.line(palette.dim("Type a prompt, or /help. Ctrl-C stops an answer, twice quits."));
  const hint = () => {
    if (options.live) options.live.hint("Ctrl-C again quits.");
    else reader.interject(() => screen.line(palette.dim("Ctrl-C again quits.")));
  };
  let given = first;
  for (;;) {
    const line = given ?? (await interrupts.during(hint, () => nextLine(parts)));
    given = undefined;
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
    const { exitCode, shallQuit, isInterrupted } = await submit(line, parts);
    if (result === EXIT.done) result = exitCode;
    if (shallQuit || isInterrupted) break;
  }
  interrupts.quit.removeEventListener("abort", stop);
  return interrupts.quit.aborted ? EXIT.interrupted : result;
}

interface Submitted {
  readonly exitCode: number;
  readonly shallQuit: boolean;
  /** By the person here: another client that cancels a turn stops no other prompts. */
  readonly isInterrupted?: boolean;
}

/** One text of the person: a command of the chat, a command for the shell, or a prompt that runs as a turn of the agent. */
async function submit(line: string, parts: Parts): Promise<Submitted> {
  const { screen, palette, record, session, shared, view, options, liveView } = parts;
  const command = commandOf(line, shared !== undefined);
  // The agent tells its commands behind the answer that opens a session: one answer later they have come.
  if (!command && record.commands === undefined && /^\/[^\s/]+(?:\s|$)/u.test(line))
    await session.status().catch(() => undefined);
  const refusal = refusalOf(line, record, shared !== undefined);
  if (refusal !== undefined) {
    liveView?.prompted(line);
    screen.line(palette.yellow(`  ${refusal}`));
    return { exitCode: EXIT.usage, shallQuit: false };
  }
  if (!command) {
    return options.interactive && isForShell(line)
      ? await shell(line.replace(/^!\s*/u, ""), parts)
      : await runTurn(line, parts);
  }
  if (command.command.name === "quit") return { exitCode: EXIT.done, shallQuit: true };
  try {
    liveView?.prompted(line);
    const prompt = await command.command.run(command.words, portsOf(parts));
    return typeof prompt === "string" ? await runTurn(prompt, parts) : { exitCode: EXIT.done, shallQuit: false };
  } catch (error) {
    view.failed(toFailure(error));
    return { exitCode: EXIT.failed, shallQuit: false };
  }
}

/** A command that needs no turn to be over. Never rejects. */
async function runNow({ command, words }: ChatCommand, parts: Parts): Promise<void> {
  try {
    parts.liveView?.prompted(`/${command.name} ${words}`);
    await command.run(words, portsOf(parts));
  } catch (error) {
    parts.view.failed(toFailure(error));
  }
}

function portsOf(parts: Parts): CommandPorts {
  const { screen, palette, shared, session, record, options, liveView } = parts;
  const { live, exportSession } = options;
  return {
    ...{ screen, palette, session, record, cwd: options.cwd },
    open: async (id) => {
      record.reset();
      liveView?.reset();
      await openSession(parts, id === undefined ? "new" : { id });
    },
    ...defined({ shared, exportSession, copy: live && ((text: string) => live.write(clipboard(text))) }),
  };
}

/** OSC 52, as base64: nothing of the text is obeyed. */
function clipboard(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`;
}

function isForShell(line: string): boolean {
  return /^!\s*\S/u.test(line);
}

/** By the person's own hand; what it printed goes with the next prompt. */
async function shell(command: string, parts: Parts): Promise<Submitted> {
  const { options, interrupts, screen, palette, liveView, clock } = parts;
  const stop = new AbortController();
  liveView?.prompted(`!${command}`);
  parts.record.stop = () => stop.abort();
  const { output, code } = await interrupts.during(
    () => stop.abort(),
    () =>
      runShell(command, {
        ...{ cwd: options.cwd, env: options.env ?? {}, signal: AbortSignal.any([stop.signal, interrupts.quit]) },
        clock,
        onLine: (line) => screen.line(palette.dim(`  ${visible(line)}`)),
      }),
  );
  parts.record.stop = undefined;
  const ended = code === 0 ? "" : `\n[exit code ${code ?? "unknown"}]`;
  if (code !== 0) screen.line(palette.yellow(`  exit code ${code ?? "unknown"}`));
  parts.record.shellNotes.push(`I ran this command myself:\n$ ${command}\n${output}${ended}`);
  return { exitCode: EXIT.done, shallQuit: false };
}

async function blocksOf(text: string, { options, record, screen, palette }: Parts): Promise<readonly ContentBlock[]> {
  const notes = record.shellNotes.splice(0).map((note): ContentBlock => ({ type: "text", text: note }));
  if (!options.interactive) return [{ type: "text", text }];
  const { blocks, problems } = await preparePrompt(text, options.cwd, options.env?.["HOME"]);
  for (const problem of problems) screen.line(palette.yellow(`  ${visibleLine(problem)}`));
  return [...blocks, ...notes];
}

async function runTurn(text: string, parts: Parts): Promise<Submitted> {
  const { session, shared, view, permission, elicitation, interrupts, screen, palette, record, notifier } = parts;
  const { clock, options } = parts;
  const over = new AbortController();
  const cancelling: Promise<void>[] = [];
  const cancel = () => {
    over.abort();
    if (options.live) stopTyping(parts);
    else screen.line(palette.dim("Stopping. Ctrl-C again quits."));
    cancelling.push(session.cancel());
  };
  permission.beginTurn(over.signal);
  elicitation.beginTurn(over.signal);
  parts.liveView?.prompted(text);
  record.turnStarted();
  record.stop = cancel;
  view.turnStarted();
  const beganMs = clock.now();
  const outcome = await interrupts.during(cancel, () =>
    settled(async () => {
      const blocks = await blocksOf(text, parts);
      const send = (promptId?: string) => session.prompt(blocks, promptId);
      const answer = await unlessAborted(shared ? shared.run(send) : send(), interrupts.quit);
      if (answer === undefined) return { kind: "abandoned" };
      record.turnEnded(answer.usage);
      return { kind: "stopped", stopReason: answer.stopReason, wasDenied: permission.wasDenied };
    }),
  );
  record.stop = undefined;
  record.promptCount += 1;
  // A question left open is answered with "cancelled", so that the agent never waits for a person who has gone.
  over.abort();
  await Promise.allSettled(cancelling);
  view.turnEnded(outcome);
  if (clock.now() - beganMs >= CLI_LIMITS.noticeAfterMs) notifier?.tell("is done");
  // An answer that was complete when Ctrl-C came is shown; the exit code still reports the interrupt.
  const exitCode = cancelling.length > 0 ? EXIT.interrupted : exitCodeOf(outcome);
  const isInterrupted = cancelling.length > 0 || (!shared && exitCode === EXIT.interrupted);
  return { exitCode, shallQuit: outcome.kind === "abandoned", isInterrupted };
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
