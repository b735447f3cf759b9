// run_command, command_output and stop_command: shell commands, waited for or in the background.
import { orAborted } from "../base/async/deadline.js";
import { messageOf } from "../base/errors.js";
import type { Timer, World } from "../base/ports/world.js";
import type { ToolOutcome } from "../tools/index.js";
import { exitText, isSuccess, localTerminal, terminalText, UNATTENDED, withheldNote } from "./commands.js";
import { flagField, integerField, pathField, textField, type Values } from "./fields.js";
import { BUILTIN_LIMITS } from "./limits.js";
import type { BuiltinPresentation, CommandRequest, RunningCommand } from "./ports.js";
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
    return await runIn(context.ports.terminal ? place.path : place.realPath, args, run, { context, look });
  },
});

async function runIn(
  cwd: string,
  args: Values<typeof fields>,
  run: BuiltinRun,
  { context, look }: { readonly context: BuiltinContext; readonly look: BuiltinPresentation },
): Promise<ToolOutcome> {
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
  using pace = outputPace(world, async () => {
    const { text } = (await started.command?.output(0)) ?? { text: "" };
    run.report(text.length, terminalText(text).trimEnd().split("\n").slice(-SHOWN_LINES).join("\n"));
  });
  const running = await (ports.terminal ?? localTerminal(world, env)).run(request, () => pace.touch(), run.signal);
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
