// The one table of all commands. It is light: a command's code is loaded when the command runs.
import { type Command, command, flag, type Group, JSON_OPTION, type TableEntry, text } from "./command.js";
import { ATTACH, GATEWAY, INSPECT } from "./gateway-table.js";
import { MCP, SERVER } from "./mcp-table.js";
import { ACP_CHECK, REPLAY, TRACE_PAGE } from "./recording-table.js";

const SESSION = { name: "SESSION", summary: "its id, or the beginning of it", completes: "session" } as const;
const MODEL = text("PROVIDER/NAME", "choose the model; tenon models lists them");
const TRACE_SUMMARY = "record all ACP, MCP and model messages there as NDJSON, without secrets";
const TRACE = text("FILE", TRACE_SUMMARY, { completes: "file" });

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

const WRAP: Command = command({
  name: "wrap",
  summary: "serve another ACP agent over stdio, with Tenon running its MCP servers",
  details: [
    "Editors start this in place of the agent. The agent gets the editor's servers and yours, of every kind, under Tenon's trust; Tenon runs them, restarts them, tells the editor of their state, and ends them with the session. All other messages pass through as they are.",
    "Each session has a process of the agent, so that no session sees another's tools; --one-process is for agents that keep them apart.",
  ],
  after: { name: "COMMAND ARGS…", summary: "the agent, as its editor would start it", isOptional: true },
  options: {
    "one-process": flag("all sessions in one process of the agent"),
    config: CONFIG,
    "mcp-config": MCP_CONFIG,
    bridge: text("ADDRESS", "be a server that a wrapped agent starts", { isHidden: true }),
  },
  examples: { "tenon wrap -- opencode acp": "serves opencode with your servers" },
  load: async () => (await import("./commands/wrap/wrap.js")).runWrap,
});

const CHAT: Command = command({
  name: "chat",
  summary: "talk to the agent in this terminal",
  details: [
    "tenon alone is the same. Piped input is the prompt, or belongs to that of -p; /help in the chat lists its commands and keys.",
  ],
  arguments: [
    {
      name: "WORDS",
      summary: "the first prompt; with --resume, the id of a session may stand before it",
      isOptional: true,
      isMany: true,
    },
  ],
  options: {
    prompt: text("TEXT", "answer once and exit", { short: "p" }),
    continue: { ...flag("go on with the session of this folder that was used last"), short: "c" },
    resume: flag("go on with the session whose id follows, or with one you choose; one of the gateway is attached to"),
    config: CONFIG,
    "mcp-config": MCP_CONFIG,
    model: MODEL,
    yes: flag("approve every tool call (never servers or settings of a project's files)"),
    json: flag("print the ACP updates as NDJSON, and a result with text, usage and cost at the end"),
    plain: flag("labelled lines and numbered answers, no escape sequence; for screen readers, as TERM=dumb"),
    lines: flag("each line of the input is a prompt of its own"),
    trace: TRACE,
  },
  examples: {
    "tenon chat": "starts a conversation; /help lists the commands of the chat",
    "tenon chat --continue": "goes on with the last one of this folder",
    'tenon chat -p "list the files here"': "answers one prompt and exits",
    'tenon chat -p "review this" < changes.diff': "answers with what was piped in",
  },
  load: async () => (await import("./commands/chat/chat.js")).runChatCommand,
});

const SETUP: Command = command({
  name: "setup",
  summary: "print, or write, what an editor needs to use Tenon",
  details: [
    "Prints it unless --write is given. Writing merges into the editor's file: comments, order and everything else in it stay as they are, and nothing is written when Tenon is set up already. The key of a model provider is set up by tenon login.",
  ],
  arguments: [
    {
      name: "EDITOR",
      summary: "which one; without it they are listed",
      choices: ["zed", "jetbrains", "neovim", "emacs", "vscode"],
      isOptional: true,
    },
  ],
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

const LOGIN: Command = command({
  name: "login",
  summary: "keep the key, or the address, of a model provider",
  details: [
    "The key goes into the system's keyring or, where there is none, into a file that only you can read; your configuration refers to it. It is typed when asked for, or piped in. For programs that speak OpenAI's protocol (Ollama, LM Studio, OpenRouter and others) the address is kept too, and the model is chosen from those they list. Log-ins to MCP servers: tenon mcp login.",
  ],
  arguments: [
    {
      name: "PROVIDER",
      summary: "which one; asked for unless given",
      isOptional: true,
      choices: ["anthropic", "openai", "google", "openrouter", "ollama", "lmstudio", "other"],
    },
  ],
  options: {
    json: JSON_OPTION,
    url: text("URL", "the address of ollama, lmstudio, openrouter or other, where it is not the usual one"),
    model: text("NAME", "the provider's own name of the model to use from now on"),
  },
  examples: {
    "tenon login": "asks for a provider and its key, once",
    "tenon login ollama": "uses the models of Ollama on this machine",
    "tenon login other --url http://localhost:8080/v1 --model local": "uses any server that speaks OpenAI's protocol",
  },
  load: async () => (await import("./commands/login/login.js")).runProviderLogin,
});

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
        search: text("TEXT", "only those with this text in their title or directory"),
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
  arguments: [{ name: "SHELL", summary: "which one", choices: ["bash", "zsh", "fish", "powershell"] }],
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
    "tenon completion powershell | Out-String | Invoke-Expression": "in the profile of PowerShell",
  },
  load: async () => (await import("./commands/completion/completion.js")).completionOf(TABLE),
});

export const TABLE: readonly TableEntry[] = [
  ACP,
  WRAP,
  CHAT,
  SETUP,
  DOCTOR,
  MCP,
  TRUST,
  LOGIN,
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
