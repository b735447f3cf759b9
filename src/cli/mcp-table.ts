// The commands of `tenon mcp`, as the table has them.
import { type Command, command, flag, type Group, JSON_OPTION, text, texts } from "./command.js";

export const SERVER = { name: "SERVER", summary: "its name in tenon mcp list", completes: "server" } as const;
const SERVERS = { ...SERVER, isOptional: true, isMany: true } as const;
const TIMEOUT = text("SECONDS", "wait no longer than this for a server to be ready");
const PROJECT = flag("in this project's .tenon/config.json instead of your own file");

function editCommand(name: "remove" | "enable" | "disable", summary: string, does: string): Command {
  return command({
    name,
    summary,
    arguments: [SERVER],
    options: { json: JSON_OPTION, project: PROJECT },
    examples: { [`tenon mcp ${name} files`]: does },
    load: async () => (await import("./commands/mcp/configured.js")).runEdit(name),
  });
}

const LOGIN_SUBJECT = {
  ...SERVER,
  summary: "its name in tenon mcp list, or the address of one that an editor passes on",
} as const;
const ACCOUNT = text("NAME", 'one of several log-ins at the server; the entry\'s "account" chooses between them');

export const MCP: Group = {
  kind: "group",
  name: "mcp",
  summary: "MCP servers: add, look at, try, explain",
  commands: [
    command({
      name: "list",
      summary: "the servers of every layer: their state, their tools, and what those cost",
      details: [
        "Connects to every server a session here would have, several at a time, and ends them again. Nothing is asked and no tool is called. Servers of the project that you have not approved are shown and not started.",
      ],
      options: {
        json: JSON_OPTION,
        "no-connect": flag("start nothing: only what the files say, and why a server is not used"),
        "exit-code": flag("exit with 1 when a server that is to be used does not work"),
        timeout: TIMEOUT,
      },
      examples: {
        "tenon mcp list": "shows state, source, protocol version, tools, tokens and start time of each",
        "tenon mcp list --no-connect --json": "prints the merged configuration without starting anything",
      },
      load: async () => (await import("./commands/mcp/configured.js")).runList,
    }),
    command({
      name: "add",
      summary: "add a server to your configuration",
      details: [
        "What READMEs of servers print is understood too: -e, -t or --transport, -s or --scope, -H, a command without --, and whole claude mcp add … lines. In a terminal the test of the server is offered.",
      ],
      arguments: [
        { name: "NAME", summary: "what to call it" },
        {
          name: "URL",
          summary: "where it is, for a remote one",
          isOptional: true,
          isMany: true,
        },
      ],
      after: { name: "COMMAND ARGS…", summary: "how it is started, word by word, as it is typed", isOptional: true },
      options: {
        json: JSON_OPTION,
        env: texts(
          "NAME=VALUE",
          "give the command a variable; ${VAR}, keyring:name and !command are filled in at start",
        ),
        header: texts("NAME=VALUE", "send a header to the URL"),
        type: text("TYPE", "the transport of the URL", { choices: ["http", "sse"] }),
        replace: flag("replace a server of that name"),
        project: PROJECT,
      },
      examples: {
        "tenon mcp add files -- npx -y @modelcontextprotocol/server-filesystem .":
          "adds a server that is started as a command",
        "tenon mcp add docs https://example.com/mcp --header 'Authorization=Bearer ${DOCS_TOKEN}'":
          "adds a remote one, with a token from the environment",
        "tenon mcp add claude mcp add -t http docs https://example.com/mcp":
          "adds it as a README says it for Claude Code",
      },
      rewrite: async (words) => (await import("../config/index.js")).ownSpelling(words),
      load: async () => (await import("./commands/mcp/add.js")).runAdd,
    }),
    command({
      name: "add-json",
      summary: "add a server from JSON, or all those of a configuration that a README shows",
      arguments: [
        { name: "NAME", summary: "what to call it, or which one of several to add; not needed where the JSON says it" },
        { name: "JSON", summary: 'an entry, or {"mcpServers": {…}}; - reads it from the input', isOptional: true },
      ],
      options: { json: JSON_OPTION, replace: flag("replace a server of that name"), project: PROJECT },
      examples: {
        [`tenon mcp add-json files '{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]}'`]:
          "adds one server",
        "tenon mcp add-json --replace - < .cursor/mcp.json": "adds every server of a file",
      },
      load: async () => (await import("./commands/mcp/add.js")).runAddJson,
    }),
    command({
      name: "get",
      summary: "everything the files say about one server, secrets masked",
      arguments: [SERVER],
      options: { json: JSON_OPTION },
      examples: { "tenon mcp get github": "shows the entry, its file, and why it is not used if so" },
      load: async () => (await import("./commands/mcp/configured.js")).runGet,
    }),
    editCommand("remove", "take a server out of your configuration", "takes it out, comments and all else stay"),
    editCommand("enable", "use a server again that was disabled", "sessions that are open follow between turns"),
    editCommand("disable", "keep a server's entry and do not use it", "sessions that are open end it between turns"),
    command({
      name: "test",
      summary: "connect to one server and show every step: how long it took, its messages, what failed",
      details: [
        "For a failure it names the step, the cause and what to do next. Exit code 1 when it failed, 3 when the configuration or trust prevents it, 4 when it wants a log-in.",
      ],
      arguments: [SERVER],
      options: { json: JSON_OPTION, timeout: TIMEOUT },
      examples: { "tenon mcp test github": "starts or reaches it, lists its tools, shows warnings, and ends it" },
      load: async () => (await import("./commands/mcp/test.js")).runTest,
    }),
    command({
      name: "tools",
      summary: "the tools of the servers here, as their servers describe them",
      details: ["With the name of a tool: its signature, what each argument means, and the command that calls it."],
      arguments: [
        { ...SERVER, isOptional: true, summary: "only those of this server" },
        { name: "TOOL", isOptional: true, summary: "only this one, with its arguments" },
      ],
      options: {
        json: JSON_OPTION,
        search: text("TEXT", "those that fit the text, the best first"),
        timeout: TIMEOUT,
      },
      examples: {
        "tenon mcp tools": "lists all of them with the tokens each costs",
        'tenon mcp tools --search "open a pull request"': "ranks them as the model's own search does",
        "tenon mcp tools github create_issue": "shows what one tool takes",
        "tenon mcp tools github --json": "prints their whole definitions",
      },
      load: async () => (await import("./commands/mcp/tools.js")).runTools,
    }),
    command({
      name: "resources",
      summary: "the resources and resource templates of one server",
      arguments: [SERVER],
      options: { json: JSON_OPTION, timeout: TIMEOUT },
      examples: { "tenon mcp resources everything": "lists them with their addresses" },
      load: async () => (await import("./commands/mcp/resources.js")).runResources,
    }),
    command({
      name: "read",
      summary: "read one resource of a server",
      arguments: [SERVER, { name: "URI", summary: "its address in tenon mcp resources" }],
      options: {
        json: JSON_OPTION,
        timeout: TIMEOUT,
        output: text("FILE", "write it there: data as it is", { short: "o", completes: "file" }),
      },
      examples: { "tenon mcp read everything demo://resource/static/document/features.md": "prints it" },
      load: async () => (await import("./commands/mcp/resources.js")).runRead,
    }),
    command({
      name: "prompts",
      summary: "the prompts of one server, or what one of them says",
      arguments: [
        SERVER,
        { name: "PROMPT", summary: "show what this one says", isOptional: true },
        { name: "KEY=VALUE", summary: "an argument of it", isOptional: true, isMany: true },
      ],
      options: { json: JSON_OPTION, timeout: TIMEOUT },
      examples: {
        "tenon mcp prompts everything": "lists them with their arguments",
        "tenon mcp prompts everything args-prompt city=Paris": "prints the messages a model would get",
      },
      load: async () => (await import("./commands/mcp/resources.js")).runPrompts,
    }),
    command({
      name: "call",
      summary: "call one tool and print its result",
      details: [
        "Running the command is the approval: nothing is asked. The arguments are shown on the error stream first. Values are read by the tool's own schema: numbers, booleans, lists and objects as JSON, texts as they stand; a name.inside writes into an object. A server of the project must be approved before.",
        "Into a file or a pipe, and with --json, the result is printed whole, however long it is. With -o, pictures and other data go into a file.",
      ],
      arguments: [
        { ...SERVER, summary: "its name in tenon mcp list; SERVER/TOOL is taken as one word too" },
        { name: "TOOL", summary: "the server's own name of the tool", isOptional: true },
        {
          name: "KEY=VALUE",
          summary: "an argument of the tool; KEY=@FILE is the text of a file. Or one JSON object, or - for the input",
          isOptional: true,
          isMany: true,
        },
      ],
      options: {
        json: JSON_OPTION,
        input: text("JSON|@FILE", "all arguments as one JSON object, or a file with it; - reads it from the input"),
        timeout: text("SECONDS", "give up when it has not answered so long after the call"),
        output: text("FILE", "write the result there: pictures and data as they are, else the text", {
          short: "o",
          completes: "file",
        }),
      },
      examples: {
        "tenon mcp call files read_text_file path=README.md head=5": "reads the first five lines of a file",
        [`tenon mcp call github create_issue --input '{"title": "It broke"}'`]: "gives the arguments as JSON",
      },
      load: async () => (await import("./commands/mcp/call.js")).runCall,
    }),
    command({
      name: "serve",
      summary: "serve the tools of all servers here as one MCP server",
      details: [
        "For other agents: they get your servers with Tenon's supervision, names, search and policy. Over stdio, where the agent starts this itself, or with --http or --listen over Streamable HTTP. Clients of all protocol versions up to 2026-07-28 are served, each with a session of its own.",
        'What policy asks about is asked through the client, by elicitation. A client that has no elicitation gets a refusal that says what to do: tenon trust grant SERVER, a rule under "permissions", or --yes. Servers of the project must be approved before: tenon trust approve.',
        "Over HTTP every client needs a token with the scope tools: tenon gateway token create NAME --scopes tools.",
      ],
      options: {
        config: text("DIR", "an agent directory of its own, as TENON_HOME", { completes: "file" }),
        "mcp-config": text("FILE", "add MCP servers", { completes: "file" }),
        search: flag("offer two tools, which find and call all others, instead of all of them"),
        builtin: texts("TOOL,…", "offer these of Tenon's own tools too: read_file, grep, …; none unless given"),
        "own-names": flag("leave the server's name out of the names of tools and prompts, as far as they differ"),
        yes: flag("allow what policy would ask about; what it denies stays denied"),
        http: flag("serve over HTTP, at 127.0.0.1:4712"),
        listen: text("HOST:PORT", "serve over HTTP there, with tokens; loopback unless TLS is given"),
        host: texts("NAME", "a name by which it is reached besides its address"),
        "tls-cert": text("FILE", "certificate for --listen, as PEM", { completes: "file" }),
        "tls-key": text("FILE", "its key", { completes: "file" }),
        "insecure-http": flag("allow other addresses than loopback without TLS: tokens can be read on the way"),
        trace: text("FILE", "record all MCP messages there as NDJSON, without secrets", { completes: "file" }),
      },
      examples: {
        "tenon mcp serve": "serves the agent that started it, over stdio",
        "tenon mcp serve --search --builtin read_file,grep": "offers search and call, and two tools of Tenon's own",
        "tenon mcp serve --http": "serves agents of this machine at http://127.0.0.1:4712/mcp",
      },
      load: async () => (await import("./commands/mcp/serve.js")).runServe,
    }),
    command({
      name: "why",
      summary: "why a tool is, or is not, offered to the model",
      details: [
        "Starts the servers a session here would have, asks nothing, calls nothing. With --prompt it also says how the tool ranks when that prompt chooses among those behind search.",
      ],
      arguments: [
        { name: "TOOL", summary: "its own name, server/tool, its title, or the name a model sees", isMany: true },
      ],
      options: { json: JSON_OPTION, prompt: text("TEXT", "as if this were the first prompt") },
      examples: {
        "tenon mcp why github/create_issue": "says whether it is offered, and what to do if not",
        'tenon mcp why create_issue --prompt "file a bug"': "shows its rank and score for that prompt",
      },
      load: async () => (await import("./commands/mcp/why.js")).runWhy,
    }),
    command({
      name: "logs",
      summary: "the last lines a server wrote to its error output or logged, kept across sessions",
      arguments: [SERVER],
      options: {
        json: JSON_OPTION,
        lines: text("COUNT", "how many of the last lines; 50 unless given", { short: "n" }),
        follow: { ...flag("go on printing as more is written, until you stop it"), short: "f" },
      },
      examples: { "tenon mcp logs github -n 200": "prints the last 200 lines, secrets masked" },
      load: async () => (await import("./commands/mcp/logs.js")).runLogs,
    }),
    command({
      name: "login",
      summary: "log in to a remote server",
      details: [
        "Shows the address of the log-in page in full, opens it in your browser, and waits for the browser to come back. If your browser is on another machine, paste the address it ends at. Open sessions that were refused use the log-in from their next call on. Exit code 4 when it failed.",
      ],
      arguments: [LOGIN_SUBJECT],
      options: {
        json: JSON_OPTION,
        "no-browser": flag("only print the address; you open it"),
        device: flag("type a code on any device instead, where the server offers it"),
        account: ACCOUNT,
        timeout: text("SECONDS", "give up after this; 600 unless given"),
      },
      examples: {
        "tenon mcp login linear": "logs in with the browser of this machine",
        "tenon mcp login linear --no-browser": "prints the address and takes the pasted answer, over SSH say",
        "tenon mcp login linear --account work": 'makes a second log-in, for the entry with "account": "work"',
      },
      load: async () => (await import("./commands/mcp/login.js")).runLogin,
    }),
    command({
      name: "logout",
      summary: "forget the log-in at a remote server, and have it revoked there where that is offered",
      arguments: [LOGIN_SUBJECT],
      options: { json: JSON_OPTION, account: ACCOUNT },
      examples: { "tenon mcp logout linear": "removes the tokens here and revokes them there" },
      load: async () => (await import("./commands/mcp/login.js")).runLogout,
    }),
    command({
      name: "import",
      summary: "show the servers your other clients have, and copy them to your configuration",
      details: [
        "Reads the files of claude-desktop, claude-code, cursor, vscode, zed, windsurf, codex, opencode, magenta, gemini-cli, cline, junie and goose. They are never changed. Without --from nothing is copied: you see which servers there are, and what copying them would do.",
        'To use such servers without copying them, name the clients in your own config.json: "import": ["cursor"]. They then follow those files.',
      ],
      arguments: [{ name: "SERVER", summary: "only these", isOptional: true, isMany: true }],
      options: {
        json: JSON_OPTION,
        from: texts(
          "CLIENT,…",
          'copy the servers of these; of two with the same server the first counts; "all" for every client',
        ),
        "dry-run": flag("show what would be done and do nothing"),
        replace: flag("replace servers of the same name that are not the same"),
        project: flag("to this project's .tenon/config.json instead of your own file"),
        secrets: text(
          "WHERE",
          "where values that look like secrets go: into the file, your keyring, or variables you set",
          { choices: ["file", "keyring", "env"] },
        ),
      },
      examples: {
        "tenon mcp import": "shows what your other clients have",
        "tenon mcp import --from cursor --dry-run": "shows what copying Cursor's servers would do",
        "tenon mcp import --from claude-desktop,cursor": "copies them; again, it changes nothing",
        "tenon mcp import --from vscode --secrets keyring github": "copies one, its token to your keyring",
      },
      load: async () => (await import("./commands/mcp/import.js")).runImport,
    }),
    command({
      name: "lock",
      summary: "write down how the tools of servers are defined, so that a change is noticed",
      details: [
        "Connects to the servers and keeps every tool's definition in .tenon/tools.lock, a file to commit. Sessions in this project then hold back a tool that is not as it was locked, until you have looked at it.",
        "Without names: the servers configured by this project, and those in the lock already. Entries of other servers stay as they are.",
      ],
      arguments: [SERVERS],
      options: {
        json: JSON_OPTION,
        all: flag("every server a session here would have, your own too"),
        timeout: TIMEOUT,
      },
      examples: {
        "tenon mcp lock github": "locks the tools of one server, or accepts how they are now",
        "tenon mcp lock": "the same for those of the project",
      },
      load: async () => (await import("./commands/mcp/lock.js")).runLock,
    }),
    command({
      name: "diff",
      summary: "compare the tools of now with .tenon/tools.lock; exits with 1 when they differ",
      arguments: [SERVERS],
      options: { json: JSON_OPTION, timeout: TIMEOUT },
      examples: {
        "tenon mcp diff": "shows added, removed and changed tools, and what changed in them",
        "tenon mcp diff github --json": "the same of one server, for a program",
      },
      load: async () => (await import("./commands/mcp/lock.js")).runDiff,
    }),
  ],
};
