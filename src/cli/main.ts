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
        --yes                              approve every tool call (never what a project's files bring)
        --json                             print the ACP updates as NDJSON
  tenon mcp list                           the configured MCP servers of every layer, and why one is not used
  tenon mcp get NAME                       everything about one
  tenon mcp add NAME [options] -- COMMAND ARGS…
  tenon mcp add NAME [options] URL
        --env NAME=VALUE                   give the command a variable; \${VAR} is filled in at start
        --header NAME=VALUE                send a header to the URL
        --type http|sse                    how the URL is spoken to
        --replace                          replace a server of that name
        --project                          in this project's .tenon/config.json instead of your own file
  tenon mcp remove|enable|disable NAME [--project]
  tenon trust                              show in full what this project's files want to bring
  tenon trust approve|deny|revoke SERVER   decide on it; approve --all asks you to confirm
  tenon mcp and tenon trust take --json. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 configuration or trust.
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
    case "mcp": {
      const { runMcpCommand } = await import("./commands/mcp.js");
      return await runMcpCommand(rest);
    }
    case "trust": {
      const { runTrustCommand } = await import("./commands/trust.js");
      return await runTrustCommand(rest);
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
