// run_command: a line for the shell, waited for or left in the background.

import type { ToolOutcome } from "../../tools/index.js";
import { UNATTENDED, withheldNote } from "../command/environment.js";
import { exitText, isSuccess, terminalText } from "../command/exit-text.js";
import { localTerminal } from "../command/local-terminal.js";
import { OutputPace } from "../command/output-pace.js";
import { shellRequest } from "../command/shell.js";
import { flagField, integerField, optionalTextField, textField } from "../fields.js";
import { BUILTIN_LIMITS } from "../limits.js";
import type { CommandRequest, RunningCommand } from "../ports.js";
import type { BuiltinPresentation } from "../presentation.js";
import { type BuiltinContext, type BuiltinRun, type BuiltinTool, builtinTool, done, failed } from "../tool.js";

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
