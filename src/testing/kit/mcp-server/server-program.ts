// The scripted MCP server as a program of its own: `node program.js --behaviour '<json>'` (or `--behaviour-file <path>`).
// It imports nothing but this folder and dependency-free base files, so that it starts as fast as Node itself.
import { messageOf } from "../../../base/message.js";
import { serveBehaviour, serveBehaviourFile } from "./stdio.js";

const USAGE_EXIT_CODE = 2;

try {
  const [option, value, ...rest] = process.argv.slice(2);
  const isUsable = value !== undefined && rest.length === 0;
  if (isUsable && option === "--behaviour") serveBehaviour(value);
  else if (isUsable && option === "--behaviour-file") serveBehaviourFile(value);
  else throw new Error("usage: program.js --behaviour <json> | --behaviour-file <path>");
} catch (error) {
  process.stderr.write(`scripted MCP server: ${messageOf(error)}\n`);
  process.exitCode = USAGE_EXIT_CODE;
}
