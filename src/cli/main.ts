// The `tenon` command: finds the verb and runs it. Only what `initialize` needs is imported here; the rest loads on demand.
import { VERSION } from "../base/version.js";
import { runAcp } from "./commands/acp.js";

const HELP = `tenon ${VERSION}: an agent that joins ACP editors and MCP tools

Usage:
  tenon acp [--model provider/name]        serve an ACP editor over stdio
  tenon chat [options]                     talk to it in this terminal
    -p, --prompt TEXT                      answer once and exit
        --mcp-config FILE                  add MCP servers: {"mcpServers": {name: {command, args, env} | {type, url, headers}}}
        --model provider/name              choose the model
        --yes                              approve every tool call
        --json                             print the ACP updates as NDJSON
  tenon --version
  tenon --help
`;

async function main(argv: readonly string[]): Promise<void> {
  const [verb, ...rest] = argv;
  switch (verb) {
    case "acp": {
      if (rest.length === 0) return runAcp({});
      const { parseAcpArguments } = await import("./arguments.js");
      const parsed = parseAcpArguments(rest);
      return parsed.ok ? runAcp(parsed.options) : refuse(parsed.reason);
    }
    case "chat": {
      const { runChatCommand } = await import("./commands/chat.js");
      return await runChatCommand(rest);
    }
    case "--version":
    case "-v":
      process.stdout.write(`${VERSION}\n`);
      return;
    case "--help":
    case "-h":
    case "help":
      process.stdout.write(HELP);
      return;
    default:
      refuse(verb === undefined ? "say what to do" : `there is no command "${verb}"`);
  }
}

function refuse(reason: string): void {
  process.stderr.write(`tenon: ${reason}\n\n${HELP}`);
  process.exitCode = 2;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`tenon: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
