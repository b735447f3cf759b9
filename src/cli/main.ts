// The `tenon` command: finds the verb and runs it. Only what `initialize` needs is imported here; the rest loads on demand.
import { VERSION } from "../base/version.js";
import { runAcp } from "./commands/acp.js";

const HELP = `tenon ${VERSION}: an agent that joins ACP editors and MCP tools

Usage:
  tenon acp [--model provider/name] [--trace FILE]
                                           serve an ACP editor over stdio
  tenon acp --setup                        keep the key of a model provider in the system's keyring; editors run this
                                           in a terminal
  tenon chat [options]                     talk to it in this terminal
    -p, --prompt TEXT                      answer once and exit
        --mcp-config FILE                  add MCP servers: {"mcpServers": {name: {command, args, env} | {type, url, headers}}}
        --model provider/name              choose the model
        --yes                              approve every tool call (never what a project's files bring)
        --json                             print the ACP updates as NDJSON
        --trace FILE                       record all ACP, MCP and model messages there as NDJSON, without secrets
  tenon mcp list                           the configured MCP servers of every layer, and why one is not used
  tenon mcp get NAME                       everything about one
  tenon mcp why TOOL [--prompt TEXT]       why a tool would, or would not, be in front of the model; starts the servers
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
  tenon trust approve|deny|revoke --settings   the same for what its files set besides servers
  tenon secret set NAME                    keep a secret in the system's keyring: "keyring:NAME" in your own file stands
                                           for it. Typed when asked for, or piped in; never a word of the command
  tenon secret check|remove NAME           whether it is there; take it out
  tenon acp-check [options] -- COMMAND ARGS…
                                           try how any ACP agent treats the MCP servers its client hands over; needs no key
        --list                             the checks, and why each matters
        --only ID,ID  --skip ID,ID         choose among them; "leak" stands for all leak.…
        --timeout SECONDS                  for any one answer of the agent
        --env NAME=VALUE                   for the agent; {url} is the model that is brought along, {origin} without /v1
        --model-env NAME                   the same as --env NAME={url}
        --model-flag WORD                  one more word for the agent's command; {url}, {model}
        --auth-method ID                   log in that way first
        --keep-home                        with your own home directory instead of an empty one
        --json                             print a report for programs
  tenon mcp, trust and secret take --json. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 configuration or trust.
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
      if (!parsed.ok) return refuse(parsed.reason);
      if (parsed.options.setup !== true) return runAcp(parsed.options);
      const { runSetupCommand } = await import("./commands/setup.js");
      return await runSetupCommand();
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
    case "secret": {
      const { runSecretCommand } = await import("./commands/secret.js");
      return await runSecretCommand(rest);
    }
    case "acp-check": {
      const { runAcpCheckCommand } = await import("./commands/acp-check.js");
      return await runAcpCheckCommand(rest);
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
  process.exitCode = error instanceof Error && "code" in error && error.code === "usage.invalid" ? 2 : 1;
});
