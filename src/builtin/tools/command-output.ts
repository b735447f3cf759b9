// command_output: what a command in the background printed since the last look.

import type { BackgroundCommand } from "../command/commands.js";
import { exitText, terminalText } from "../command/exit-text.js";
import { integerField, textField } from "../fields.js";
import { BUILTIN_LIMITS } from "../limits.js";
import { type BuiltinContext, type BuiltinTool, builtinTool, done, failed } from "../tool.js";

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

export function lineOf(command: BackgroundCommand | undefined): string {
  return command ? `: ${command.line}` : "";
}

export function unknownCommand(wanted: string, { commands }: BuiltinContext): string {
  const known = commands.ids.length === 0 ? "there are none" : `there are ${commands.ids.join(", ")}`;
  return `There is no command ${wanted} in the background; ${known}.`;
}
