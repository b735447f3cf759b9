// The terminal client: an ACP client connected to the agent in this process. Answers one prompt, a list of them, or a person.
import { createInterface } from "node:readline";
import { client, methods } from "@agentclientprotocol/sdk";
import { CLI_LIMITS } from "../limits.js";
import { type Clock, systemClock } from "../terminal/clock.js";
import { createPalette, type Palette } from "../terminal/palette.js";
import { Screen } from "../terminal/screen.js";
import { isTerminal } from "../terminal/stream.js";
import { visibleLine } from "../terminal/visible.js";
import { Conversation } from "./conversation.js";
import { ElicitationPrompter } from "./elicitation.js";
import { Interrupts, unlessAborted } from "./interrupts.js";
import { JsonView } from "./json-view.js";
import { LineReader } from "./line-reader.js";
import type { ChatOptions } from "./options.js";
import { EXIT_CODES, toFailure } from "./outcome.js";
import { awaitServers } from "./patience.js";
import { PermissionPrompter } from "./permission.js";
import { QuestionQueue } from "./question-queue.js";
import { ChatSession } from "./session.js";
import { TextView } from "./text-view.js";
import type { ChatView } from "./view.js";

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
