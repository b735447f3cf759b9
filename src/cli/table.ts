// The one table of all commands. It is light: a command's code is loaded when the command runs.
import { type Command, command, flag, type Group, JSON_OPTION, type TableEntry, text, texts } from "./command.js";
import { ATTACH, GATEWAY, INSPECT } from "./gateway-table.js";
import { ACP_CHECK, REPLAY, TRACE_PAGE } from "./recording-table.js";

const SERVER = { name: "SERVER", summary: "its name in tenon mcp list", completes: "server" } as const;
const SERVERS = { ...SERVER, isOptional: true, isMany: true } as const;
const SESSION = { name: "SESSION", summary: "its id, or the beginning of it", completes: "session" } as const;
const MODEL = text("PROVIDER/NAME", "choose the model; tenon models lists them");
const TRACE_SUMMARY = "record all ACP, MCP and model messages there as NDJSON, without secrets";
const TRACE = text("FILE", TRACE_SUMMARY, { completes: "file" });
const TIMEOUT = text("SECONDS", "wait no longer than this for a server to be ready");
const PROJECT = flag("in this project's .tenon/config.json instead of your own file");

const MCP_CONFIG = text(
  "FILE",
  'add MCP servers: {"mcpServers": {name: {command, args, env} | {type, url, headers}}}',
  {
    completes: "file",
  },
);
const CONFIG = text(
  "DIR",
  "an agent directory of its own for configuration, sessions, log-ins and trust, as TENON_HOME",
  {
    completes: "file",
  },
);

const ACP: Command = command({
  name: "acp",
  summary: "serve an ACP editor over stdio",
  details: [
    "Editors start this themselves: tenon setup prints what to put into their configuration.",
    "With --gateway, sessions live in a gateway and go on when the editor ends: in that of the address, with a token from --token-file or TENON_GATEWAY_TOKEN, or else in a local one, which is started if none runs.",
  ],
  arguments: [
    {
      name: "URL",
      summary: "the gateway of --gateway, wss://… or ws://…; several of its nodes with commas between them",
      isOptional: true,
    },
  ],
  options: {
    gateway: flag("let a gateway run the sessions: the one at URL, or that of this machine"),
    "token-file": text("FILE", "the token for the gateway at URL, in a file only you can read", { completes: "file" }),
    insecure: flag("allow ws:// to another machine, unencrypted"),
    config: CONFIG,
    "mcp-config": MCP_CONFIG,
    model: MODEL,
    trace: TRACE,
    setup: flag("keep the key of a model provider in the system's keyring; editors run this in a terminal"),
  },
  examples: {
    "tenon acp --trace /tmp/tenon.ndjson": "serves, and records every message in the file",
    "tenon acp --config ~/agents/work --mcp-config ~/agents/work-servers.json":
      "serves a second agent with servers and sessions of its own; paths must be full ones",
    "tenon acp --gateway": "serves; sessions go on when the editor ends, and other clients can join them",
    "tenon acp --setup": "asks for a provider and its key, once",
  },
  load: async () => (await import("./commands/acp/options.js")).runAcpWithOptions,
});

const CHAT: Command = command({
  name: "chat",
  summary: "talk to the agent in this terminal",
  options: {
    prompt: text("TEXT", "answer once and exit", { short: "p" }),
    config: CONFIG,
    "mcp-config": MCP_CONFIG,
    model: MODEL,
    yes: flag("approve every tool call (never servers or settings of a project's files)"),
    json: flag("print the ACP updates as NDJSON"),
    trace: TRACE,
  },
  examples: {
    "tenon chat": "starts a conversation; /help lists the commands of the chat",
    'tenon chat -p "list the files here"': "answers one prompt and exits",
  },
  load: async () => (await import("./chat/command.js")).runChatCommand,
});

const SETUP: Command = command({
  name: "setup",
  summary: "print, or write, what an editor needs to use Tenon",
  details: [
    "Prints it unless --write is given. Writing merges into the editor's file: comments, order and everything else in it stay as they are, and nothing is written when Tenon is set up already. The key of a model provider is set up by tenon acp --setup.",
  ],
  arguments: [{ name: "EDITOR", summary: "which one", choices: ["zed", "jetbrains", "neovim", "emacs", "vscode"] }],
  options: {
    json: JSON_OPTION,
    write: flag("write it into the editor's own file (zed, jetbrains, vscode)"),
    gateway: flag("sessions go on when the editor ends: tenon acp --gateway"),
    file: text("FILE", "that file instead of the usual one", { completes: "file" }),
  },
  examples: {
    "tenon setup zed": "prints the entry, and the file it belongs into",
    "tenon setup zed --write": "puts it there",
    "tenon setup zed --gateway --write": "puts it there, with sessions that outlive the editor",
  },
  load: async () => (await import("./commands/setup/setup.js")).runEditorSetup,
});

const DOCTOR: Command = command({
  name: "doctor",
  summary: "check everything a session here needs, and say how to repair what is wrong",
  details: [
    "Looks at Node, the configuration, model keys, every server (starting it), sandbox, keyring, kept data, the gateway, and what an editor would see. Exit code 1 when something is wrong.",
  ],
  options: { json: JSON_OPTION, "no-connect": flag("start no server") },
  examples: { "tenon doctor": "ends with the commands that repair what it found" },
  load: async () => (await import("./commands/doctor/doctor.js")).runDoctor,
});

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

const MCP: Group = {
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
        timeout: TIMEOUT,
      },
      examples: {
        "tenon mcp list": "shows state, source, era, tools, tokens and start time of each",
        "tenon mcp list --no-connect --json": "prints the merged configuration without starting anything",
      },
      load: async () => (await import("./commands/mcp/configured.js")).runList,
    }),
    command({
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
      },
      load: async () => (await import("./commands/mcp/configured.js")).runAdd,
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
      arguments: [{ ...SERVER, isOptional: true, summary: "only those of this server" }],
      options: {
        json: JSON_OPTION,
        search: text("TEXT", "those that fit the text, the best first"),
        timeout: TIMEOUT,
      },
      examples: {
        "tenon mcp tools": "lists all of them with the tokens each costs",
        'tenon mcp tools --search "open a pull request"': "ranks them as the model's own search does",
        "tenon mcp tools github --json": "prints their whole definitions",
      },
      load: async () => (await import("./commands/mcp/tools.js")).runTools,
    }),
    command({
      name: "call",
      summary: "call one tool and print its result",
      details: [
        "Running the command is the approval: nothing is asked. The arguments are shown on the error stream first. Values are read by the tool's own schema: numbers, booleans, lists and objects as JSON, texts as they stand; a name.inside writes into an object. A server of the project must be approved before.",
        "Into a file or a pipe, and with --json, the result is printed whole, however long it is.",
      ],
      arguments: [
        SERVER,
        { name: "TOOL", summary: "the server's own name of the tool" },
        { name: "KEY=VALUE", summary: "an argument of the tool", isOptional: true, isMany: true },
      ],
      options: {
        json: JSON_OPTION,
        input: text("JSON|@FILE", "all arguments as one JSON object, or a file with it; - reads it from the input"),
        timeout: text("SECONDS", "give up when it has not answered by then"),
      },
      examples: {
        "tenon mcp call files read_text_file path=README.md head=5": "reads the first five lines of a file",
        [`tenon mcp call github create_issue --input '{"title": "It broke"}'`]: "gives the arguments as JSON",
      },
      load: async () => (await import("./commands/mcp/call.js")).runCall,
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
        "Reads the files of claude-desktop, claude-code, cursor, vscode, zed, windsurf, codex, opencode and magenta. They are never changed. Without --from nothing is copied: you see which servers there are, and what copying them would do.",
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

/** Accepted only to answer that it does nothing: other programs have it, and people try. */
const NO_YES = { ...flag("approves nothing"), isHidden: true } as const;

function decisionCommand(name: "approve" | "deny" | "revoke", summary: string, does: string): Command {
  return command({
    name,
    summary,
    arguments: [{ ...SERVER, summary: "a server of the project", isOptional: true }],
    options: {
      json: JSON_OPTION,
      settings: flag("the settings of the project's files besides servers"),
      all: flag(name === "approve" ? "everything that is open; asks you to confirm" : "everything"),
      yes: NO_YES,
    },
    examples: { [`tenon trust ${name} build`]: does },
    load: async () => (await import("./commands/trust/trust.js")).runDecision(name),
  });
}

const TRUST: Group = {
  kind: "group",
  name: "trust",
  summary: "servers and settings of this project's files, and what you allowed or refused for good",
  fallback: "list",
  commands: [
    command({
      name: "list",
      summary: "show in full the servers and settings of this project's files",
      options: { json: JSON_OPTION, yes: NO_YES },
      examples: { "tenon trust": "shows open questions, what was decided, and what is granted here" },
      load: async () => (await import("./commands/trust/trust.js")).runTrustList,
    }),
    decisionCommand("approve", "let exactly this be used", "shows the server in full and approves exactly that"),
    decisionCommand("deny", "do not use it, and do not ask again", "ends the question until its entry changes"),
    decisionCommand("revoke", "forget what was decided", "asks again the next time"),
    command({
      name: "approvals",
      summary: "what you allowed or refused for good, in every project",
      options: { json: JSON_OPTION },
      examples: { "tenon trust approvals": "lists it with the id that forget takes" },
      load: async () => (await import("./commands/trust/trust.js")).runApprovals,
    }),
    command({
      name: "forget",
      summary: "be asked again about a command, a site or a tool",
      arguments: [
        { name: "WHICH", summary: "an id of tenon trust approvals, a server, or server/tool", isOptional: true },
      ],
      options: { json: JSON_OPTION, all: flag("forget every grant and every never") },
      examples: { "tenon trust forget github/create_issue": "the next call of it asks again" },
      load: async () => (await import("./commands/trust/trust.js")).runForget,
    }),
    command({
      name: "grant",
      summary: "allow every tool a server has now, as it is defined now, in this project",
      details: [
        "Connects to the server, shows its tools and asks you to confirm. A tool that changes or is added later is asked about.",
      ],
      arguments: [SERVER],
      options: {
        json: JSON_OPTION,
        timeout: text("SECONDS", "wait no longer than this for the server to be ready"),
      },
      examples: { "tenon trust grant github": "shows its tools and allows them in this project" },
      load: async () => (await import("./commands/trust/trust.js")).runGrant,
    }),
  ],
};

function secretCommand(name: "set" | "check" | "remove", summary: string, does: string): Command {
  return command({
    name,
    summary,
    arguments: [{ name: "NAME", summary: 'the name behind "keyring:" in your configuration' }],
    options: { json: JSON_OPTION },
    examples: { [`tenon secret ${name} github-token`]: does },
    load: async () => (await import("./commands/secret/secret.js")).runSecret(name),
  });
}

const SECRET: Group = {
  kind: "group",
  name: "secret",
  summary: 'secrets in the system\'s keyring: "keyring:NAME" in your own file stands for one',
  commands: [
    secretCommand(
      "set",
      "keep a secret; typed when asked for, or piped in, never a word of the command",
      "asks for the value and keeps it",
    ),
    secretCommand("check", "whether it is there", "exits 3 when it is not"),
    secretCommand("remove", "take it out", "takes it out of the keyring"),
  ],
};

const MODELS: Command = command({
  name: "models",
  summary: "the models there are keys for: window, price, and which one is used",
  details: ["Asks each provider that has a key for its list; the others are listed with the variable they need."],
  options: { json: JSON_OPTION },
  examples: { "tenon models --json": "prints what is known of each for programs" },
  load: async () => (await import("./commands/models/models.js")).runModels,
});

const SESSIONS: Group = {
  kind: "group",
  name: "sessions",
  summary: "conversations kept on this machine",
  fallback: "list",
  commands: [
    command({
      name: "list",
      summary: "those of this directory, the one used last first",
      options: {
        json: JSON_OPTION,
        all: flag("of every directory"),
        limit: text("COUNT", "no more than so many; 20 unless given", { short: "n" }),
      },
      examples: { "tenon sessions list --all": "lists the last twenty of every project" },
      load: async () => (await import("./commands/sessions/sessions.js")).runSessionList,
    }),
    command({
      name: "show",
      summary: "read one: prompts, answers, tool calls",
      arguments: [SESSION],
      options: { json: JSON_OPTION },
      examples: { "tenon sessions show 0199": "prints the conversation whose id begins so" },
      load: async () => (await import("./commands/sessions/sessions.js")).runSessionShow,
    }),
    command({
      name: "export",
      summary: "write one as Markdown, HTML or JSON",
      arguments: [SESSION],
      options: {
        json: JSON_OPTION,
        format: text("FORMAT", "markdown unless the file's name says html or json", {
          choices: ["markdown", "html", "json"],
        }),
        output: text("FILE", "into this file instead of the output", { short: "o", completes: "file" }),
        force: flag("replace a file that is there"),
      },
      examples: {
        "tenon sessions export 0199 -o talk.html": "writes one page that loads nothing from anywhere",
      },
      load: async () => (await import("./commands/sessions/export.js")).runSessionExport,
    }),
    command({
      name: "delete",
      summary: "remove everything kept of one or more",
      arguments: [{ ...SESSION, isMany: true }],
      options: { json: JSON_OPTION },
      examples: { "tenon sessions delete 0199a1": "removes it, unless it is open somewhere" },
      load: async () => (await import("./commands/sessions/sessions.js")).runSessionDelete,
    }),
  ],
};

const COMPLETION: Command = command({
  name: "completion",
  summary: "print the script that completes tenon's words in your shell",
  arguments: [{ name: "SHELL", summary: "which one", choices: ["bash", "zsh", "fish"] }],
  options: {
    names: text("KIND", "the names there are, for the script itself", {
      choices: ["server", "session"],
      isHidden: true,
    }),
  },
  examples: {
    'eval "$(tenon completion bash)"': "in ~/.bashrc",
    'tenon completion zsh > "${fpath[1]}/_tenon"': "once, for zsh",
    "tenon completion fish > ~/.config/fish/completions/tenon.fish": "once, for fish",
  },
  load: async () => (await import("./commands/completion/completion.js")).completionOf(TABLE),
});

export const TABLE: readonly TableEntry[] = [
  ACP,
  CHAT,
  SETUP,
  DOCTOR,
  MCP,
  TRUST,
  SECRET,
  MODELS,
  SESSIONS,
  ATTACH,
  INSPECT,
  GATEWAY,
  COMPLETION,
  ACP_CHECK,
  REPLAY,
  TRACE_PAGE,
];
