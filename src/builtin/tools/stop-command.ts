// stop_command: ends a command in the background, with everything it started.
import { exitText } from "../command/exit-text.js";
import { textField } from "../fields.js";
import { type BuiltinTool, builtinTool, done, failed } from "../tool.js";
import { lineOf, unknownCommand } from "./command-output.js";

const id = textField("id", "The id run_command gave.");

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
