// The commands of `tenon mcp`.
import { IMPORT_COMMANDS } from "../import/commands.js";
import { LOCK_COMMANDS } from "../lock/commands.js";
import { type Command, command, type Group, JSON_OPTION } from "./command.js";
import { LOGIN, LOGOUT } from "./login.js";

const SERVER = { name: "SERVER", summary: "its name in tenon mcp list", completes: "server" } as const;
const PROJECT_OPTION = {
  type: "boolean",
  summary: "in this project's .tenon/config.json instead of your own file",
} as const;
const TIMEOUT_OPTION = {
  type: "string",
  value: "SECONDS",
  summary: "wait no longer than this for a server to be ready",
} as const;

const LIST: Command = command({
  name: "list",
  summary: "the servers of every layer: how each stands, its tools, and what they cost",
  details: [
    "Connects to every server a session here would have, several at a time, and ends them again. Nothing is asked and no tool is called. Servers of the project that you have not approved are shown and not touched.",
  ],
  options: {
    json: JSON_OPTION,
    "no-connect": { type: "boolean", summary: "start nothing: only what the files say, and why a server is not used" },
    timeout: TIMEOUT_OPTION,
  },
  examples: [
    { line: "tenon mcp list", does: "shows state, source, era, tools, tokens and start time of each" },
    { line: "tenon mcp list --no-connect --json", does: "prints the merged configuration without starting anything" },
  ],
  load: async () => (await import("../servers/list.js")).runList,
});

const GET: Command = command({
  name: "get",
  summary: "everything the files say about one server, secrets masked",
  arguments: [SERVER],
  options: { json: JSON_OPTION },
  examples: [{ line: "tenon mcp get github", does: "shows the entry, where it stands, and why it is not used if so" }],
  load: async () => (await import("../configuration/mcp.js")).runGet,
});

const ADD: Command = command({
  name: "add",
  summary: "add a server to your configuration",
  arguments: [
    { name: "NAME", summary: "what to call it" },
    {
      name: "URL",
      summary: "where it is, for a remote one; without --, also the words of a command",
      isOptional: true,
      isMany: true,
    },
  ],
  after: { name: "COMMAND ARGS…", summary: "how it is started, word by word, as it stands", isOptional: true },
  options: {
    json: JSON_OPTION,
    env: {
      type: "string",
      multiple: true,
      value: "NAME=VALUE",
      summary: "give the command a variable; ${VAR}, keyring:name and !command are filled in at start",
    },
    header: { type: "string", multiple: true, value: "NAME=VALUE", summary: "send a header to the URL" },
    type: { type: "string", value: "TYPE", choices: ["http", "sse"], summary: "how the URL is spoken to" },
    replace: { type: "boolean", summary: "replace a server of that name" },
    project: PROJECT_OPTION,
  },
  examples: [
    {
      line: "tenon mcp add files -- npx -y @modelcontextprotocol/server-filesystem .",
      does: "adds a server that is started as a command",
    },
    {
      line: "tenon mcp add docs https://example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'",
      does: "adds a remote one, with a token from the environment",
    },
  ],
  load: async () => (await import("../configuration/add.js")).runAdd,
});

function edit(name: "remove" | "enable" | "disable", summary: string, does: string): Command {
  return command({
    name,
    summary,
    arguments: [SERVER],
    options: { json: JSON_OPTION, project: PROJECT_OPTION },
    examples: [{ line: `tenon mcp ${name} files`, does }],
    load: async () => (await import("../configuration/mcp.js")).runEdit(name),
  });
}

const TEST: Command = command({
  name: "test",
  summary: "connect to one server and show every step: how long it took, what it said, what failed",
  details: [
    "For a failure it names the step, the cause and what to do next. Exit code 1 when it failed, 3 when the configuration or trust is in the way, 4 when it wants a log-in.",
  ],
  arguments: [SERVER],
  options: { json: JSON_OPTION, timeout: TIMEOUT_OPTION },
  examples: [
    { line: "tenon mcp test github", does: "starts or reaches it, lists its tools, shows warnings, and ends it" },
  ],
  load: async () => (await import("../servers/test.js")).runTest,
});

const TOOLS: Command = command({
  name: "tools",
  summary: "the tools of the servers here, as their servers describe them",
  arguments: [{ ...SERVER, isOptional: true, summary: "only those of this server" }],
  options: {
    json: JSON_OPTION,
    search: { type: "string", value: "TEXT", summary: "those that fit the text, the best first" },
    timeout: TIMEOUT_OPTION,
  },
  examples: [
    { line: "tenon mcp tools", does: "lists all of them with the tokens each costs" },
    { line: 'tenon mcp tools --search "open a pull request"', does: "ranks them as the model's own search does" },
    { line: "tenon mcp tools github --json", does: "prints their whole definitions" },
  ],
  load: async () => (await import("../servers/tools.js")).runTools,
});

const CALL: Command = command({
  name: "call",
  summary: "call one tool and print its answer",
  details: [
    "Your own word is the approval: nothing is asked. What it will send is shown on the error stream first. Values are read by the tool's own schema: numbers, booleans, lists and objects as JSON, texts as they stand; a name.inside writes into an object. A server of the project must be approved before.",
    "Into a file or a pipe, and with --json, the answer is printed whole, however long it is.",
  ],
  arguments: [
    SERVER,
    { name: "TOOL", summary: "the server's own name of the tool" },
    { name: "KEY=VALUE", summary: "an argument of the tool", isOptional: true, isMany: true },
  ],
  options: {
    json: JSON_OPTION,
    input: {
      type: "string",
      value: "JSON|@FILE",
      summary: "all arguments as one JSON object, or a file with it; - reads it from the input",
    },
    timeout: { type: "string", value: "SECONDS", summary: "give up when it has not answered by then" },
  },
  examples: [
    { line: "tenon mcp call files read_text_file path=README.md head=5", does: "reads the first five lines of a file" },
    { line: `tenon mcp call github create_issue --input '{"title": "It broke"}'`, does: "gives the arguments as JSON" },
  ],
  load: async () => (await import("../servers/call.js")).runCall,
});

const WHY: Command = command({
  name: "why",
  summary: "why a tool would, or would not, be in front of the model",
  details: [
    "Starts the servers a session here would have, asks nobody, calls nothing. With --prompt it also says where the tool stood when that prompt chose among those behind search.",
  ],
  arguments: [
    { name: "TOOL", summary: "its own name, server/tool, its title, or the name a model sees", isMany: true },
  ],
  options: {
    json: JSON_OPTION,
    prompt: { type: "string", value: "TEXT", summary: "as if this were the first prompt" },
  },
  examples: [
    { line: "tenon mcp why github/create_issue", does: "says whether it is offered, and what to do if not" },
    { line: 'tenon mcp why create_issue --prompt "file a bug"', does: "shows its rank and score for that prompt" },
  ],
  load: async () => (await import("../servers/why.js")).runWhy,
});

const LOGS: Command = command({
  name: "logs",
  summary: "the last lines a server wrote to its error output or logged, kept across sessions",
  arguments: [SERVER],
  options: {
    json: JSON_OPTION,
    lines: { type: "string", short: "n", value: "COUNT", summary: "how many of the last lines; 50 unless given" },
    follow: { type: "boolean", short: "f", summary: "go on printing as more is written, until you stop it" },
  },
  examples: [{ line: "tenon mcp logs github -n 200", does: "prints the last 200 lines, secrets masked" }],
  load: async () => (await import("../servers/logs.js")).runLogs,
});

export const MCP: Group = {
  kind: "group",
  name: "mcp",
  summary: "MCP servers: add, look at, try, explain",
  commands: [
    LIST,
    ADD,
    GET,
    edit("remove", "take a server out of your configuration", "takes it out, comments and all else stay"),
    edit("enable", "use a server again that was disabled", "sessions that are open follow between turns"),
    edit("disable", "keep a server's entry and do not use it", "sessions that are open end it between turns"),
    TEST,
    TOOLS,
    CALL,
    WHY,
    LOGS,
    LOGIN,
    LOGOUT,
    // Commands of src/cli/login, src/cli/import and src/cli/lock join below, one line each.
    ...IMPORT_COMMANDS,
    ...LOCK_COMMANDS,
  ],
};
