// run_command, command_output and stop_command: shell commands, waited for or in the background.

import { StringDecoder } from "node:string_decoder";
import { stripVTControlCharacters } from "node:util";
import { orAborted } from "../base/async/deadline.js";
import { abortListeners, Scope } from "../base/async/scope.js";
import { messageOf } from "../base/errors.js";
import { endTree } from "../base/io/process.js";
import { defined } from "../base/json/defined.js";
import type { Child, Timer, World } from "../base/ports/world.js";
import { isSecretVariable } from "../base/text/secrets.js";
import type { ToolOutcome } from "../tools/index.js";
import { flagField, integerField, pathField, textField, type Values } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type {
  BuiltinPresentation,
  CommandExit,
  CommandOutput,
  CommandRequest,
  RunningCommand,
  Terminal,
} from "./ports.js";
import {
  type BuiltinContext,
  type BuiltinRun,
  type BuiltinTool,
  builtinTool,
  done,
  failed,
  READ_ONLY,
} from "./tool.js";

const fields = {
  command: textField("The line for the shell (bash where there is one)."),
  path: pathField("The folder to run it in; the session's directory by default."),
  timeoutSeconds: integerField("Ended after this long. Does not count in the background.", {
    min: 1,
    max: BUILTIN_LIMITS.commandMaxMs / 1_000,
    fallback: BUILTIN_LIMITS.commandTimeoutMs / 1_000,
  }),
  background: flagField(
    "Answer at once with an id, and let it run on: for servers and watchers. See command_output and stop_command.",
  ),
};

export const runCommand: BuiltinTool = builtinTool({
  name: "run_command",
  title: "Run a command",
  description:
    "Runs a line in the shell and gives its output and exit code. There is no input and no terminal, so nothing may ask " +
    "questions. Long output is shown with its start and its end. What it leaves running is ended with it, unless it runs " +
    "in the background; that is ended with the session. Variables that look like secrets are not passed on.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  fields,
  look: ({ command, path }) => ({ kind: "execute", title: command, path }),
  run: async (args, run, context, look) => {
    const place = await context.folders.place(args.path);
    if (place.found?.kind !== "folder") return failed(`There is no folder ${context.folders.show(args.path)}.`);
    if (args.background && !context.commands.hasRoom) {
      return failed(`There are ${BUILTIN_LIMITS.commandsAtOnce} commands in the background already: stop one first.`);
    }
    const terminal = await usableTerminal(place.path, run, context);
    return await runIn(terminal ? place.path : place.realPath, args, run, { context, look, terminal });
  },
});

async function runIn(
  cwd: string,
  args: Values<typeof fields>,
  run: BuiltinRun,
  about: {
    readonly context: BuiltinContext;
    readonly look: BuiltinPresentation;
    /** Of the client; undefined: here. */
    readonly terminal: Terminal | undefined;
  },
): Promise<ToolOutcome> {
  const { context, look, terminal } = about;
  const { world, commands } = context;
  const { headChars, tailChars } = BUILTIN_LIMITS.commandOutput;
  const { env, withheld } = context.environment();
  // A terminal of the client has the client's environment, which is nearly always ours: its secrets are emptied there.
  const emptied = terminal ? Object.fromEntries(withheld.map((name) => [name, ""])) : {};
  const request: CommandRequest = {
    ...shellRequest(world, args.command),
    cwd,
    env: { ...emptied, ...UNATTENDED },
    maxOutputBytes: headChars + tailChars,
  };
  const started: { command?: RunningCommand } = {};
  using pace = outputPace(world, async () => {
    const { text } = (await started.command?.output(0)) ?? { text: "" };
    run.report(text.length, terminalText(text).trimEnd().split("\n").slice(-SHOWN_LINES).join("\n"));
  });
  const running = await (terminal ?? localTerminal(world, env)).run(request, () => pace.touch(), run.signal);
  started.command = running;
  const { terminalId } = running;
  if (run.signal.aborted) {
    commands.endSoon(running);
    return { kind: "cancelled" };
  }
  if (terminalId !== undefined) run.present({ ...look, terminalId });
  if (args.background) {
    const { id } = commands.keep(args.command, running);
    return done(`Running in the background as ${id}. See its output with command_output, end it with stop_command.`);
  }
  commands.track(running);
  return await waitFor(running, args.timeoutSeconds, run, context);
}

/**
 * What shows that words are kept apart and reach the shell as they are: two blanks, and what a shell in between would
 * take for its own.
 */
const PROBES = {
  posix: { line: `printf '%s' 'a  b' '"$0"'`, prints: `a  b"$0"` },
  windows: { line: `echo "a  b&echo c"`, prints: `"a  b&echo c"` },
};

/** The client's terminal, where there is one and it runs the commands it is sent; undefined: they run here. */
async function usableTerminal(
  cwd: string,
  { signal }: BuiltinRun,
  { ports: { terminal }, world }: BuiltinContext,
): Promise<Terminal | undefined> {
  if (!terminal?.keepsWords) return terminal;
  const { line, prints } = PROBES[world.platform === "win32" ? "windows" : "posix"];
  const request = { ...shellRequest(world, line), cwd, env: UNATTENDED, maxOutputBytes: PROBE_BYTES };
  const isRight = (output: string) => terminalText(output).trim() === prints;
  return (await terminal.keepsWords({ request, isRight }, signal)) ? terminal : undefined;
}

/** More than the probe prints: what a wrong one printed is shown to the person. */
const PROBE_BYTES = 1_000;

/** Lines of the output so far in a progress report. */
const SHOWN_LINES = 20;

async function waitFor(
  running: RunningCommand,
  seconds: number,
  { signal }: BuiltinRun,
  { commands, world, environment }: BuiltinContext,
): Promise<ToolOutcome> {
  using deadline = world.deadline(seconds * 1_000, signal);
  const exit = await orAborted(running.exited, deadline.signal).catch(() => undefined);
  if (signal.aborted && !exit) {
    commands.endSoon(running); // a cancelled call does not wait for it
    return { kind: "cancelled" };
  }
  if (!exit) await running.end();
  const last = exit ?? (await running.exited);
  const { text } = await running.output(0);
  await running.release();
  const output = terminalText(text).trimEnd() || "(It printed nothing.)";
  if (!exit) {
    const hint = "Give it more time with timeout_seconds, or run it in the background.";
    return failed(`Ended after ${seconds} s without having finished. ${hint}\n${output}`);
  }
  const ended = `${output}\n[${exitText(last)}]`;
  return isSuccess(last) ? done(ended) : failed(`${ended}${withheldNote(environment().withheld)}`);
}

const id = textField("The id run_command gave.");

export const commandOutput: BuiltinTool = builtinTool({
  name: "command_output",
  title: "Read a command's output",
  description: "Gives what a command in the background printed since the last look, and whether it still runs.",
  annotations: READ_ONLY,
  fields: {
    id,
    waitSeconds: integerField("Wait up to this long for it to end.", {
      min: 0,
      max: BUILTIN_LIMITS.commandWaitMs / 1_000,
      fallback: 0,
    }),
  },
  look: (args, context) => ({ kind: "read", title: `Output of ${args.id}${lineOf(args.id, context)}` }),
  run: async (args, { signal }, context) => {
    const command = context.commands.background.get(args.id);
    if (!command) return failed(unknownCommand(args.id, context));
    const { running } = command;
    if (args.waitSeconds > 0 && !command.exit) {
      using deadline = context.world.deadline(args.waitSeconds * 1_000, signal);
      await orAborted(running.exited, deadline.signal).catch(() => undefined);
      signal.throwIfAborted();
    }
    // Looked at before the output, so that "ended" means that nothing more comes.
    const state = command.exit ? exitText(command.exit) : "still running";
    const { text, nextChar } = await running.output(command.seenChars);
    command.seenChars = nextChar;
    return done(`${terminalText(text).trimEnd() || "(Nothing new.)"}\n[${state}]`);
  },
});

export const stopCommand: BuiltinTool = builtinTool({
  name: "stop_command",
  title: "Stop a command",
  description: "Ends a command in the background, with everything it started. Its output can still be read.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  fields: { id },
  look: (args, context) => ({ kind: "execute", title: `Stop ${args.id}${lineOf(args.id, context)}` }),
  run: async (args, _, context) => {
    const command = context.commands.background.get(args.id);
    if (!command) return failed(unknownCommand(args.id, context));
    if (command.exit) return done(`${args.id} had ended already: ${exitText(command.exit)}.`);
    await command.running.end();
    return done(`${args.id} has been ended: ${exitText(await command.running.exited)}.`);
  },
});

function lineOf(wanted: string, { commands }: BuiltinContext): string {
  const command = commands.background.get(wanted);
  return command ? `: ${command.line}` : "";
}

function unknownCommand(wanted: string, { commands: { background } }: BuiltinContext): string {
  const known = background.size === 0 ? "there are none" : `there are ${[...background.keys()].join(", ")}`;
  return `There is no command ${wanted} in the background; ${known}.`;
}

/** Reports new output soon, at most once per interval, and never after the end. */
function outputPace(world: World, report: () => Promise<void>): Disposable & { touch(): void } {
  let timer: Timer | undefined;
  let isOver = false;
  const logFailure = (thrown: unknown) => world.log.debug("builtin.progress_failed", { error: messageOf(thrown) });
  return {
    /** There is more output. */
    touch: () => {
      if (timer || isOver) return;
      timer = world.after(BUILTIN_LIMITS.commandProgressMs, () => {
        timer = undefined;
        report().catch(logFailure);
      });
    },
    [Symbol.dispose]: () => {
      isOver = true;
      timer?.clear();
    },
  };
}

/** Bash where it is, since models write for it; the shell every system has otherwise. No profile is read. */
function shellRequest(world: World, line: string): Pick<CommandRequest, "command" | "args" | "isVerbatim"> {
  if (world.platform === "win32") {
    return { command: world.env["COMSPEC"] ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], isVerbatim: true };
  }
  const bash = ["/bin/bash", "/usr/bin/bash"].find((path) => world.files.isFile(path));
  return { command: bash ?? "/bin/sh", args: ["-c", line] };
}

/** A command in the background. */
interface BackgroundCommand {
  readonly id: string;
  readonly line: string;
  readonly running: RunningCommand;
  /** Undefined while it runs. */
  exit: CommandExit | undefined;
  /** How far its output has been read. */
  seenChars: number;
}

export class Commands implements AsyncDisposable {
  readonly #scope: Scope;
  /** By id. */
  readonly background: Map<string, BackgroundCommand> = new Map();
  #count = 0;

  constructor(world: World) {
    this.#scope = new Scope(world.log);
  }

  /** Whether one more may go into the background. */
  get hasRoom(): boolean {
    const alive = [...this.background.values()].filter(({ exit }) => exit === undefined);
    return alive.length < BUILTIN_LIMITS.commandsAtOnce;
  }

  /** From now on it lives until it ends, is stopped, or the session closes. */
  keep(line: string, running: RunningCommand): BackgroundCommand {
    this.#count += 1;
    const command: BackgroundCommand = { id: `c${this.#count}`, line, running, exit: undefined, seenChars: 0 };
    this.background.set(command.id, command);
    this.track(running, async (exit) => {
      command.exit = exit;
      await this.#forgetOldest();
    });
    return command;
  }

  /** It ends with the session at the latest. */
  track(running: RunningCommand, onExit: (exit: CommandExit) => Promise<void> = async () => {}): void {
    this.#scope.run("command", async (signal) => {
      const end = () => this.endSoon(running);
      if (signal.aborted) end();
      abortListeners(signal).add(end);
      const exit = await running.exited;
      abortListeners(signal).delete(end);
      await onExit(exit);
    });
  }

  /** Ends it without making anybody wait; closing the session does. */
  endSoon(running: RunningCommand): void {
    this.#scope.run("ending a command", async () => {
      await running.end();
      await running.exited;
      await running.release();
    });
  }

  async #forgetOldest(): Promise<void> {
    const finished = [...this.background.values()].filter(({ exit }) => exit !== undefined);
    for (const { id, running } of finished.slice(0, Math.max(0, finished.length - BUILTIN_LIMITS.commandsKept))) {
      this.background.delete(id);
      await running.release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scope.close();
    for (const { running } of this.background.values()) await running.release();
    this.background.clear();
  }
}

// The environment of commands: the person's own, without secrets. A model reads whatever a command prints.
export interface CommandEnvironment {
  readonly env: Readonly<Record<string, string>>;
  /** Names of the variables that commands do not get, sorted. */
  readonly withheld: readonly string[];
}

/** `allow` names variables that commands get all the same (`commands.env.allow` of the user's configuration). */
export function commandEnvironment(
  { env: all }: Pick<World, "env">,
  allow: readonly string[] = [],
): CommandEnvironment {
  const env: Record<string, string> = {};
  const withheld: string[] = [];
  for (const [name, value] of Object.entries(all)) {
    // Exported shell functions start with "()": they are code, not values.
    if (value === undefined || value.startsWith("()")) continue;
    if (isSecretVariable(name, value) && !allow.includes(name)) withheld.push(name);
    else env[name] = value;
  }
  return { env, withheld: withheld.sort() };
}

const NAMED_VARIABLES = 8;

/** For the result of a command that failed: what it may have missed, and where that is allowed. Empty when nothing is withheld. */
function withheldNote(withheld: readonly string[]): string {
  if (withheld.length === 0) return "";
  const names = withheld.slice(0, NAMED_VARIABLES).join(", ");
  const rest = withheld.length > NAMED_VARIABLES ? ` and ${withheld.length - NAMED_VARIABLES} more` : "";
  return `\n[not passed to commands because they look like secrets: ${names}${rest}. The person can allow one by name with commands.env.allow in their configuration.]`;
}

/** Nobody sits in front of it: no pagers, no colours, no questions on a terminal. */
const UNATTENDED: Readonly<Record<string, string>> = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
};

// How a command ended and what it printed, in words for the model.
function exitText(exit: CommandExit): string {
  if (exit.kind === "not_started") return `it could not be started: ${exit.reason}`;
  if (exit.kind === "cut_off") return exit.reason;
  return exit.signal === null ? `exit code ${exit.code ?? "unknown"}` : `ended by ${exit.signal}`;
}

function isSuccess(exit: CommandExit): boolean {
  return exit.kind === "exited" && exit.code === 0;
}

/** What a terminal would show in the end: no colours, and of a line that was written over only its last state. */
export function terminalText(output: string): string {
  return stripVTControlCharacters(output)
    .split("\n")
    .map((line) => {
      let end = line.length;
      while (end > 0 && line[end - 1] === "\r") end -= 1;
      return end === 0 ? "" : line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
    })
    .join("\n");
}

/** `base` is the environment that every command gets, beside what its request sets. */
function localTerminal(world: World, base: Readonly<Record<string, string>>): Terminal {
  return {
    run: async (request, onOutput) =>
      new LocalCommand(world, { ...request, env: { ...base, ...request.env } }, onOutput),
  };
}

class LocalCommand implements RunningCommand {
  readonly #world: World;
  readonly #child: Child;
  readonly #output = new OutputBuffer();
  readonly #onOutput: () => void;
  readonly exited: Promise<CommandExit>;
  #bytes = 0;
  #ending: Promise<void> | undefined;
  #cutOff: string | undefined;

  constructor(world: World, request: CommandRequest, onOutput: () => void) {
    this.#world = world;
    this.#onOutput = onOutput;
    const { command, args, cwd, env, isVerbatim } = request;
    this.#child = world.spawn({ command, args, cwd, env, ...defined({ isVerbatim: isVerbatim || undefined }) });
    this.#child.stdin.on("error", () => {}); // it may end before it hears that there is no input
    this.#child.stdin.end();
    const streams = Promise.all([this.#read(this.#child.stdout), this.#read(this.#child.stderr)]);
    this.exited = this.#finish(streams).catch((error: unknown) => ({ kind: "cut_off", reason: messageOf(error) }));
  }

  async output(sinceChar: number): Promise<CommandOutput> {
    return this.#output.since(sinceChar);
  }

  end(): Promise<void> {
    this.#ending ??= endTree(this.#child, this.#world, BUILTIN_LIMITS.commandGrace);
    return this.#ending;
  }

  async release(): Promise<void> {} // nothing is held but what this object holds

  async #finish(streams: Promise<unknown>): Promise<CommandExit> {
    const exit = await this.#child.exited;
    if (exit.kind === "not_started") return { kind: "not_started", reason: exit.error.message };
    // What it started in the background may hold the pipes for ever.
    await this.#drained(streams);
    await this.end();
    await this.#drained(streams);
    if (this.#cutOff !== undefined) return { kind: "cut_off", reason: this.#cutOff };
    return { kind: "exited", code: exit.code, signal: exit.signal };
  }

  async #drained(streams: Promise<unknown>): Promise<void> {
    using deadline = this.#world.deadline(BUILTIN_LIMITS.commandDrainMs);
    await orAborted(streams, deadline.signal).catch(() => {}); // then without the rest
  }

  /** Resolves at the end of the stream, however it ends. */
  #read(stream: Child["stdout"]): Promise<void> {
    const decoder = new StringDecoder("utf8");
    stream.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      this.#output.push(decoder.write(chunk));
      if (this.#bytes > BUILTIN_LIMITS.commandMaxBytes && this.#cutOff === undefined) {
        this.#cutOff = `it printed more than ${BUILTIN_LIMITS.commandMaxBytes} bytes and was ended`;
        this.#child.signalGroup("SIGKILL");
      }
      this.#onOutput();
    });
    return new Promise((resolve) => {
      const end = () => {
        this.#output.push(decoder.end());
        resolve();
      };
      stream.once("close", end);
      stream.on("error", () => {}); // `close` follows
    });
  }
}

// The output of a command, however long: its start and its end are kept, and what lies between is counted.
type OutputBounds = Readonly<Record<"headChars" | "tailChars", number>>;

export class OutputBuffer {
  readonly #bounds: OutputBounds;
  #head = "";
  #tail = "";
  #total = 0;

  constructor(bounds: OutputBounds = BUILTIN_LIMITS.commandOutput) {
    this.#bounds = bounds;
  }

  push(text: string): void {
    this.#total += text.length;
    const room = this.#bounds.headChars - this.#head.length;
    this.#head += text.slice(0, room);
    this.#tail += text.slice(room);
    // Cut now and then, not at every piece: each cut copies.
    if (this.#tail.length > 2 * this.#bounds.tailChars) this.#tail = this.#tail.slice(-this.#bounds.tailChars);
  }

  since(sinceChar: number): CommandOutput {
    const from = Math.min(sinceChar, this.#total);
    const tail = this.#tail.slice(-this.#bounds.tailChars);
    const tailStart = this.#total - tail.length;
    const headPart = this.#head.slice(from);
    const tailPart = tail.slice(Math.max(0, from - tailStart));
    const gap = tailStart - Math.max(from, this.#head.length);
    const middle = gap > 0 ? `\n[… ${gap} characters left out …]\n` : "";
    return { text: `${headPart}${middle}${tailPart}`, nextChar: this.#total };
  }
}
