// run_command: a line for the shell, waited for or left in the background.

import { messageOf } from "../base/errors.js";
import type { Timer, World } from "../base/ports/world.js";
import type { ToolOutcome } from "../tools/index.js";
import { type BackgroundCommand, exitText, isSuccess, terminalText, UNATTENDED, withheldNote } from "./commands.js";
import { flagField, integerField, optionalTextField, textField } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import { localTerminal } from "./local-terminal.js";
import type { BuiltinPresentation, CommandRequest, RunningCommand } from "./ports.js";
import { type BuiltinContext, type BuiltinRun, type BuiltinTool, builtinTool, done, failed } from "./tool.js";

const command = textField("command", "The line for the shell (bash where there is one).");
const path = optionalTextField("path", "The folder to run it in; the session's directory by default.");
const timeout = integerField("timeout_seconds", "Ended after this long. Does not count in the background.", {
  min: 1,
  max: BUILTIN_LIMITS.commandMaxMs / 1_000,
  fallback: BUILTIN_LIMITS.commandTimeoutMs / 1_000,
});
const background = flagField(
  "background",
  "Answer at once with an id, and let it run on: for servers and watchers. See command_output and stop_command.",
);

interface Arguments {
  readonly command: string;
  readonly path: string;
  readonly timeoutMs: number;
  readonly background: boolean;
}

export const runCommand: BuiltinTool<"run_command"> = builtinTool<"run_command", Arguments>({
  name: "run_command",
  title: "Run a command",
  description:
    "Runs a line in the shell and gives its output and exit code. There is no input and no terminal, so nothing may ask " +
    "questions. Long output is shown with its start and its end. What it leaves running is ended with it, unless it runs " +
    "in the background; that is ended with the session. Variables that look like secrets are not passed on.",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  fields: [command, path, timeout, background],
  parse: (given) => ({
    command: command.from(given),
    path: path.from(given) ?? ".",
    timeoutMs: timeout.from(given) * 1_000,
    background: background.from(given),
  }),
  describe,
  run: async (args, run, context) => {
    const placed = await context.folders.locate(args.path);
    if (!placed.ok) return failed(placed.reason);
    if (placed.place.found?.kind !== "folder") return failed(`There is no folder ${context.folders.show(args.path)}.`);
    if (args.background && !context.commands.hasRoom) {
      return failed(`There are ${BUILTIN_LIMITS.commandsAtOnce} commands in the background already: stop one first.`);
    }
    const cwd = context.ports.terminal ? placed.place.path : placed.place.realPath;
    return await runIn(cwd, args, run, context);
  },
});

function describe(args: Arguments, { folders }: BuiltinContext): BuiltinPresentation {
  return { kind: "execute", title: args.command, locations: [{ path: folders.absolute(args.path) }] };
}

async function runIn(cwd: string, args: Arguments, run: BuiltinRun, context: BuiltinContext): Promise<ToolOutcome> {
  const { world, ports, commands } = context;
  const { headChars, tailChars } = BUILTIN_LIMITS.commandOutput;
  const { env, withheld } = context.environment();
  // A terminal of the client has the client's environment, which is nearly always ours: its secrets are emptied there.
  const emptied = ports.terminal ? Object.fromEntries(withheld.map((name) => [name, ""])) : {};
  const request: CommandRequest = {
    ...shellRequest(world, args.command),
    cwd,
    env: { ...emptied, ...UNATTENDED },
    maxOutputBytes: headChars + tailChars,
  };
  const started: { command?: RunningCommand } = {};
  using pace = new OutputPace(world, async () => {
    const { text } = (await started.command?.output(0)) ?? { text: "" };
    run.report(text.length, terminalText(text).trimEnd().split("\n").slice(-SHOWN_LINES).join("\n"));
  });
  const running = await (ports.terminal ?? localTerminal(world, env)).run(request, () => pace.touch(), run.signal);
  started.command = running;
  if (run.signal.aborted) {
    commands.endSoon(running);
    return { kind: "cancelled" };
  }
  if (running.terminalId !== undefined) {
    run.present({ ...describe(args, context), terminalId: running.terminalId });
  }
  if (args.background) {
    const { id } = commands.keep(args.command, running);
    return done(`Running in the background as ${id}. See its output with command_output, end it with stop_command.`);
  }
  commands.track(running);
  return await waitFor(running, args, run, context);
}

/** Of the output so far, for somebody watching. */
const SHOWN_LINES = 20;

async function waitFor(
  running: RunningCommand,
  args: Arguments,
  { signal }: BuiltinRun,
  { commands, world, environment }: BuiltinContext,
): Promise<ToolOutcome> {
  using deadline = world.deadline(args.timeoutMs, signal);
  const stopped = new Promise<undefined>((resolve) => {
    if (deadline.signal.aborted) resolve(undefined);
    deadline.signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  const exit = await Promise.race([running.exited, stopped]);
  if (signal.aborted && !exit) {
    commands.endSoon(running); // whoever cancelled does not wait for it
    return { kind: "cancelled" };
  }
  if (!exit) await running.end();
  const last = exit ?? (await running.exited);
  const { text } = await running.output(0);
  await running.release();
  const output = terminalText(text).trimEnd();
  const words = output === "" ? "(It printed nothing.)" : output;
  if (!exit) {
    const hint = "Give it more time with timeout_seconds, or run it in the background.";
    return failed(`Ended after ${args.timeoutMs / 1_000} s without having finished. ${hint}\n${words}`);
  }
  const ended = `${words}\n[${exitText(last)}]`;
  return isSuccess(last) ? done(ended) : failed(`${ended}${withheldNote(environment().withheld)}`);
}

// command_output: what a command in the background printed since the last look.
const id = textField("id", "The id run_command gave.");
const wait = integerField("wait_seconds", "Wait up to this long for it to end.", {
  min: 0,
  max: BUILTIN_LIMITS.commandWaitMs / 1_000,
  fallback: 0,
});

export const commandOutput: BuiltinTool<"command_output"> = builtinTool({
  name: "command_output",
  title: "Read a command's output",
  description: "Gives what a command in the background printed since the last look, and whether it still runs.",
  annotations: { readOnlyHint: true, openWorldHint: false },
  fields: [id, wait],
  parse: (given) => ({ id: id.from(given), waitMs: wait.from(given) * 1_000 }),
  describe: (args, { commands }) => ({
    kind: "read",
    title: `Output of ${args.id}${lineOf(commands.find(args.id))}`,
    locations: [],
  }),
  run: async (args, { signal }, context) => {
    const command = context.commands.find(args.id);
    if (!command) return failed(unknownCommand(args.id, context));
    const { running } = command;
    if (args.waitMs > 0 && !command.exit) {
      using deadline = context.world.deadline(args.waitMs, signal);
      const waited = new Promise<void>((resolve) => {
        deadline.signal.addEventListener("abort", () => resolve(), { once: true });
      });
      await Promise.race([running.exited, waited]);
      signal.throwIfAborted();
    }
    // Looked at before the output, so that "ended" means that nothing more comes.
    const state = command.exit ? exitText(command.exit) : "still running";
    const { text, nextChar } = await running.output(command.seenChars);
    command.seenChars = nextChar;
    const output = terminalText(text).trimEnd();
    return done(`${output === "" ? "(Nothing new.)" : output}\n[${state}]`);
  },
});

function lineOf(command: BackgroundCommand | undefined): string {
  return command ? `: ${command.line}` : "";
}

function unknownCommand(wanted: string, { commands }: BuiltinContext): string {
  const known = commands.ids.length === 0 ? "there are none" : `there are ${commands.ids.join(", ")}`;
  return `There is no command ${wanted} in the background; ${known}.`;
}

// stop_command: ends a command in the background, with everything it started.
export const stopCommand: BuiltinTool<"stop_command"> = builtinTool({
  name: "stop_command",
  title: "Stop a command",
  description: "Ends a command in the background, with everything it started. Its output can still be read.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  fields: [id],
  parse: (given) => ({ id: id.from(given) }),
  describe: (args, { commands }) => ({
    kind: "execute",
    title: `Stop ${args.id}${lineOf(commands.find(args.id))}`,
    locations: [],
  }),
  run: async (args, _, context) => {
    const command = context.commands.find(args.id);
    if (!command) return failed(unknownCommand(args.id, context));
    if (command.exit) return done(`${args.id} had ended already: ${exitText(command.exit)}.`);
    await command.running.end();
    return done(`${args.id} has been ended: ${exitText(await command.running.exited)}.`);
  },
});

// How often somebody watching hears of new output: soon, at most every so often, and never after the end.
class OutputPace implements Disposable {
  readonly #world: World;
  readonly #tell: () => Promise<void>;
  #timer: Timer | undefined;
  #isTouched = false;
  #isOver = false;

  constructor(world: World, tell: () => Promise<void>) {
    this.#world = world;
    this.#tell = tell;
  }

  /** There is more. */
  touch(): void {
    this.#isTouched = true;
    if (this.#timer || this.#isOver) return;
    this.#timer = this.#world.after(BUILTIN_LIMITS.commandProgressMs, () => {
      this.#timer = undefined;
      if (!this.#isTouched || this.#isOver) return;
      this.#isTouched = false;
      this.#tell().catch((thrown: unknown) => {
        this.#world.log.debug("builtin.progress_failed", { error: messageOf(thrown) });
      });
    });
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer?.clear();
  }
}

// A line for the shell, as the machine's own shell takes it.
/** Bash where it is, since models write for it; the shell every system has otherwise. No profile is read. */
function shellRequest(world: World, line: string): Pick<CommandRequest, "command" | "args" | "isVerbatim"> {
  if (world.platform === "win32") {
    return { command: world.env["COMSPEC"] ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], isVerbatim: true };
  }
  const bash = ["/bin/bash", "/usr/bin/bash"].find((path) => world.files.isFile(path));
  return { command: bash ?? "/bin/sh", args: ["-c", line] };
}
